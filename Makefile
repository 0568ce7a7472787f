# Tightrope: `make` builds build/tightrope; every other target is a short call of it or of a script.
CC ?= cc
CXX ?= c++
BUILD ?= build
PREFIX ?= /usr/local
VERSION := 0.1.0
OPT ?= -O2 -g
# GCC 12 takes (double)(float)x of two neighbours for x when it vectorises the two together (SLP), so that a rounding to
# f32 is lost: not in what judges. Kernels are built without this, as elsewhere.
ROUNDING := -fno-tree-slp-vectorize

# Contraction is off: an fma is one because the code says fma(). No value-changing flag is allowed here, and the
# oracle's self-test refuses a build that has one.
WARN := -Wall -Wextra -Wconversion -Wshadow -Wpointer-arith -Wvla
CFLAGS_ALL = -std=c17 $(OPT) $(ROUNDING) -ffp-contract=off $(WARN) -Wstrict-prototypes -Wmissing-prototypes $(CFLAGS)
CXXFLAGS_ALL = -std=c++17 $(OPT) $(ROUNDING) -ffp-contract=off -Wall -Wextra $(CXXFLAGS)
ifdef WERROR
CFLAGS_ALL += -Werror
CXXFLAGS_ALL += -Werror
endif
CPPFLAGS_ALL := -I. -I$(BUILD) -D_GNU_SOURCE $(CPPFLAGS)
LDLIBS_ALL := -lbenchmark -lrapidcheck -lmpfi -lmpfr -lgmp -lcsv -lcjson -lmd -lpthread -ldl -lm $(LDLIBS)
# What only the tests need: cmocka, and Arb as the oracle's independent third opinion.
TEST_LDLIBS := -lcmocka -lflint-arb -lflint

SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

ALL_C := $(sort $(shell find impl oracle props bench reports scripts/front -name '*.c'))
TEST_C := $(filter %_test.c,$(ALL_C))
FUZZ_C := $(filter %_fuzz.c,$(ALL_C))
MAIN_C := scripts/front/tightrope.c
LIB_C := $(filter-out $(TEST_C) $(FUZZ_C) $(MAIN_C),$(ALL_C))
LIB_CC := $(sort $(shell find props bench -name '*_shim.cc'))
LIB_O := $(LIB_C:%.c=$(BUILD)/%.o) $(LIB_CC:%.cc=$(BUILD)/%.o)
LIB := $(BUILD)/libtightrope.a
TESTS := $(TEST_C:%.c=$(BUILD)/%)

.DELETE_ON_ERROR:
.PHONY: readme all tests test verify verify-full mutants report sanitize fuzz fuzzers coverage examples install clean FORCE
all: $(BUILD)/tightrope

$(BUILD)/tightrope: $(BUILD)/$(MAIN_C:.c=.o) $(LIB)
	$(CXX) $(LDFLAGS) -o $@ $^ $(LDLIBS_ALL)

$(LIB): $(LIB_O)
	@rm -f $@
	$(AR) rcs $@ $^

# The scan for the smallest base is a search of minutes to hours: vectorised.
$(BUILD)/oracle/base_scan.o: OPT := -O3 -g
$(BUILD)/oracle/base_scan.o: ROUNDING :=

# Kernels are compiled as an inference engine would compile them.
$(BUILD)/impl/kernels/%.o $(BUILD)/kernel_flags: OPT := -O3 -g
$(BUILD)/impl/kernels/%.o $(BUILD)/kernel_flags: ROUNDING :=

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

$(BUILD)/%.o: %.cc Makefile
	@mkdir -p $(@D)
	$(CXX) $(CPPFLAGS_ALL) $(CXXFLAGS_ALL) -MMD -MP -c -o $@ $<

# Static patterns, here and for fuzz targets: objects that only an implicit rule names are deleted after use.
$(TESTS): %: %.o $(LIB)
	$(CXX) $(LDFLAGS) -o $@ $^ $(TEST_LDLIBS) $(LDLIBS_ALL)

# What the build was made of, for run.json; rewritten only when it changes. The kernels' flags are what CFLAGS_ALL is
# under the variables of their own, which the command line may still overrule.
$(BUILD)/kernel_flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' "$(CFLAGS_ALL)" >$@
$(BUILD)/build_info.h: $(BUILD)/kernel_flags FORCE
	@mkdir -p $(@D)
	@scripts/build-info "$(VERSION)" "$(CC)" "$(CFLAGS_ALL)" "$$(cat $<)" $@
$(BUILD)/scripts/front/environment.o: $(BUILD)/build_info.h
# The style that the page carries is part of the program.
$(BUILD)/reports/tools.o: reports/style.css

tests: $(TESTS)

test: $(BUILD)/tightrope $(TESTS)
	scripts/run-tests $(BUILD)

verify: $(BUILD)/tightrope $(TESTS) examples
	scripts/run-tests $(BUILD) --verify

# Everything in its long form: over 10^6 oracle points against Arb, every rotary_dim, verify --level full.
verify-full: $(BUILD)/tightrope $(TESTS)
	TIGHTROPE_FULL=1 scripts/run-tests $(BUILD) --verify

# Every kernel of the registry at every position, on five presets; POSITIONS=A:B for another range.
POSITIONS ?= 0:1048576
.PHONY: certify
certify: $(BUILD)/tightrope
	@mkdir -p $(BUILD)/certificates
	$(BUILD)/tightrope certify --positions $(POSITIONS) --out $(BUILD)/certificates --csv=$(BUILD)/certificates/certify.csv

# Faulty kernels through the same verification: all must be found out, and every property must find one.
mutants: $(BUILD)/tightrope
	$(BUILD)/tightrope verify --mutants --csv=$(BUILD)/mutants.csv

report: $(BUILD)/tightrope
	scripts/make-report $(BUILD)

readme: $(BUILD)/tightrope examples
	scripts/make-readme $(BUILD)

# The project's own defences. Each builds into a folder of its own.
sanitize:
	$(MAKE) BUILD=build-sanitize OPT="-O1 -g $(SANITIZE)" LDFLAGS="-fsanitize=address,undefined" verify

fuzz:
	$(MAKE) BUILD=build-fuzz CC=clang CXX=clang++ OPT="-O1 -g -fsanitize=fuzzer-no-link $(SANITIZE)" \
	    CPPFLAGS=-DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION LDFLAGS="-fsanitize=address,undefined" fuzzers
	scripts/fuzz build-fuzz

# A small run of the verbs under valgrind: invalid accesses, uninitialised values; definite leaks, but for child processes
# of certify, which end without giving back what they hold. `concurrent` stops a call at an access and lets it go on there,
# for which valgrind must keep all registers exact.
VALGRIND := valgrind -q --error-exitcode=9 --vex-iropt-register-updates=allregs-at-mem-access
LEAKS := --leak-check=full --errors-for-leak-kinds=definite
SMALL := head_dim=8,base=10000,pairing=half
.PHONY: valgrind
valgrind: $(BUILD)/tightrope
	@mkdir -p $(BUILD)/valgrind
	$(VALGRIND) $(LEAKS) $< oracle --spec llama-3.1-8b --positions 131071 --pair 29
	$(VALGRIND) $(LEAKS) $< verify --kernel lookup --spec $(SMALL)
	$(VALGRIND) $< certify --kernel lookup --spec $(SMALL) --positions 0:256 --out $(BUILD)/valgrind/certificate.json
	$(VALGRIND) $< certify --recheck $(BUILD)/valgrind/certificate.json

coverage:
	@mkdir -p build-coverage
	$(CC) -O2 $(WARN) -c -o build-coverage/exit.o scripts/coverage_exit.c
	$(MAKE) BUILD=build-coverage OPT="-O0 -g --coverage -fprofile-update=atomic" CPPFLAGS=-DCOVERAGE CFLAGS=-Wno-sign-conversion \
	    LDFLAGS="--coverage -Wl,--wrap=_exit build-coverage/exit.o" verify
	gcovr --root . --object-directory build-coverage --exclude '.*_test\.c' --exclude '.*_fuzz\.c' --print-summary \
	    --txt build-coverage/coverage.txt

FUZZERS := $(FUZZ_C:%.c=$(BUILD)/%)
fuzzers: $(FUZZERS)

$(FUZZERS): %: %.o $(LIB)
	$(CXX) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS_ALL)

# The NEON kernels, and the portable ones beside them, run under qemu; the host's oracle judges what they wrote.
AARCH64_CC ?= aarch64-linux-gnu-gcc
QEMU_AARCH64 ?= qemu-aarch64
AARCH64_C := scripts/aarch64/dump.c impl/registry.c impl/error.c $(filter impl/kernels/%,$(LIB_C))
$(BUILD)/aarch64/dump: $(AARCH64_C) impl/rope.h impl/registry.h impl/registry.def scripts/aarch64/record.h
	@mkdir -p $(@D)
	$(AARCH64_CC) -I. -D_GNU_SOURCE -std=c17 -O3 -ffp-contract=off $(WARN) -Werror -static -o $@ $(AARCH64_C) -lm
$(BUILD)/aarch64/judge: scripts/aarch64/judge.c scripts/aarch64/record.h $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -c -o $@.o $<
	$(CXX) $(LDFLAGS) -o $@ $@.o $(LIB) $(LDLIBS_ALL)
verify-aarch64: $(BUILD)/aarch64/dump $(BUILD)/aarch64/judge
	@command -v $(QEMU_AARCH64) >/dev/null || { echo "verify-aarch64: $(QEMU_AARCH64) is missing; apt-get install qemu-user" >&2; exit 3; }
	$(QEMU_AARCH64) $(BUILD)/aarch64/dump $(BUILD)/aarch64/dumps
	$(BUILD)/aarch64/judge $(BUILD)/aarch64/dumps

# The goals of speed, as CSV; exit 1 where one is not met.
.PHONY: verify-aarch64 bench-goals
bench-goals: $(BUILD)/tightrope
	@$(BUILD)/tightrope bench --goals

# The example plug-ins, built as their comments say, against the header in the tree or an installed one.
INCLUDE ?= impl
examples: $(patsubst docs/examples/%.c,$(BUILD)/examples/%.so,$(wildcard docs/examples/*.c)) \
          $(patsubst docs/examples/%.cc,$(BUILD)/examples/%.so,$(wildcard docs/examples/*.cc))

$(BUILD)/examples/%.so: docs/examples/%.c docs/examples/textbook.c impl/rope.h
	@mkdir -p $(@D)
	$(CC) -O2 -Wall -Wextra -shared -fPIC -I$(INCLUDE) $< -o $@ -lm

$(BUILD)/examples/%.so: docs/examples/%.cc impl/rope.h
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -O2 -Wall -Wextra -shared -fPIC -I$(INCLUDE) $< -o $@

# The command, the kernel header and a pkg-config file for plug-ins.
install: $(BUILD)/tightrope
	install -D -m 755 $(BUILD)/tightrope $(DESTDIR)$(PREFIX)/bin/tightrope
	install -D -m 644 impl/rope.h $(DESTDIR)$(PREFIX)/include/tightrope/rope.h
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
	printf 'prefix=%s\nName: tightrope\nDescription: kernel ABI of the Tightrope harness\nVersion: $(VERSION)\nCflags: -I$${prefix}/include/tightrope\n' \
	    "$(PREFIX)" >$(DESTDIR)$(PREFIX)/lib/pkgconfig/tightrope.pc

clean:
	rm -rf $(BUILD)

-include $(LIB_O:.o=.d) $(FUZZ_C:%.c=$(BUILD)/%.d) $(TEST_C:%.c=$(BUILD)/%.d) $(BUILD)/$(MAIN_C:.c=.d)
