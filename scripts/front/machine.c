#include "scripts/front/machine.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "impl/registry.h"

/* The first line of a file without its newline; false when there is none. */
static bool first_line(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    bool good = file != NULL && fgets(text, (int)size, file) != NULL;
    if (file != NULL)
        fclose(file);
    if (good)
        text[strcspn(text, "\n")] = '\0';
    return good && *text != '\0';
}

/* The value of the first line "key<blank>SEPARATOR value" of a file, quotes removed. */
static bool keyed(const char *path, const char *key, char separator, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0, length = strlen(key);
    bool found = false;
    while (file != NULL && !found && getline(&line, &capacity, file) > 0) {
        if (strncmp(line, key, length) != 0)
            continue;
        char *value = line + length + strspn(line + length, " \t");
        if (*value != separator)
            continue;
        value++;
        value += strspn(value, " \t\"");
        value[strcspn(value, "\"\n")] = '\0';
        snprintf(text, size, "%s", value);
        found = *value != '\0';
    }
    free(line);
    if (file != NULL)
        fclose(file);
    return found;
}

static void add(machine_fact *facts, int *count, const char *name, const char *value)
{
    if (*count >= MACHINE_FACTS)
        return;
    facts[*count].name = name;
    snprintf(facts[*count].value, sizeof facts->value, "%s", value);
    (*count)++;
}

static void cache_text(char *text, size_t size)
{
    long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE),
         l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (l1 <= 0)
        snprintf(text, size, MACHINE_UNKNOWN);
    else
        snprintf(text, size, "L1d %ld KiB, L2 %ld KiB, L3 %ld KiB", l1 >> 10, l2 >> 10, l3 >> 10);
}

/* Whether a cycle counter can be opened; hypervisors and perf_event_paranoid hide it. */
static const char *counters(void)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_HARDWARE,
                                         .size = sizeof attributes,
                                         .config = PERF_COUNT_HW_CPU_CYCLES,
                                         .disabled = 1,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1};
    long descriptor = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
    if (descriptor < 0)
        return MACHINE_UNKNOWN;
    close((int)descriptor);
    return "available";
}

int machine_facts(machine_fact facts[MACHINE_FACTS])
{
    int count = 0;
    char text[4096];
    const char *cpu = "/proc/cpuinfo";
    struct utsname system;
    bool known = keyed(cpu, "model name", ':', text, sizeof text) ||
                 keyed(cpu, "CPU part", ':', text, sizeof text);
    add(facts, &count, "cpu_model", known ? text : MACHINE_UNKNOWN);
    char family[64], model[64], stepping[64];
    if (keyed(cpu, "cpu family", ':', family, sizeof family) &&
        keyed(cpu, "model", ':', model, sizeof model) &&
        keyed(cpu, "stepping", ':', stepping, sizeof stepping)) {
        snprintf(text, sizeof text, "family %s, model %s, stepping %s", family, model, stepping);
        add(facts, &count, "cpu_signature", text);
    } else {
        add(facts, &count, "cpu_signature", MACHINE_UNKNOWN);
    }
    known = keyed(cpu, "microcode", ':', text, sizeof text);
    add(facts, &count, "microcode", known ? text : MACHINE_UNKNOWN);
    rope_cpu_features_text(rope_cpu_features(), text, sizeof text);
    add(facts, &count, "cpu_features_used", text);
    known = keyed(cpu, "flags", ':', text, sizeof text) ||
            keyed(cpu, "Features", ':', text, sizeof text);
    add(facts, &count, "cpu_flags", known ? text : MACHINE_UNKNOWN);
    snprintf(text, sizeof text, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    add(facts, &count, "cores_online", text);
    cache_text(text, sizeof text);
    add(facts, &count, "caches", text);
    known = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text, sizeof text);
    add(facts, &count, "governor", known ? text : MACHINE_UNKNOWN);
    known = keyed("/proc/meminfo", "MemTotal", ':', text, sizeof text);
    add(facts, &count, "memory", known ? text : MACHINE_UNKNOWN);
    known = first_line("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text);
    add(facts, &count, "transparent_hugepages", known ? text : MACHINE_UNKNOWN);
    add(facts, &count, "hardware_counters", counters());
    if (uname(&system) == 0) {
        snprintf(text, sizeof text, "%s %s %s", system.sysname, system.release, system.machine);
        add(facts, &count, "kernel", text);
    }
    known = keyed("/etc/os-release", "PRETTY_NAME", '=', text, sizeof text);
    add(facts, &count, "system", known ? text : MACHINE_UNKNOWN);
    return count;
}

void machine_load(char *text, size_t size)
{
    double load[3];
    if (getloadavg(load, 3) == 3)
        snprintf(text, size, "%.2f %.2f %.2f", load[0], load[1], load[2]);
    else
        snprintf(text, size, MACHINE_UNKNOWN);
}
