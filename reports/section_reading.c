#include "reports/markdown.h"

void report_section_reading(FILE *out)
{
    fputs(
        "## How to read this report\n\n"
        "**The rotation.** A kernel turns the pair (u, v) of an element row at position p by the "
        "angle p θ: (u cos − v sin, u sin + v cos), times the attention factor A. *Exact* is that "
        "formula in real numbers, enclosed by an oracle of arbitrary precision; not another "
        "kernel.\n\n"
        "**Error.** The *normwise error* of a pair is |y − exact| / (A |x| u), where u is the unit "
        "roundoff of the element type: 2<sup>−24</sup> for f32, 2<sup>−11</sup> for f16, "
        "2<sup>−8</sup> for bf16, 2<sup>−53</sup> for "
        "f64. 1 u is about one rounding. A component's own ulp is not used, since it explodes "
        "where the component nearly cancels, and then says nothing about the kernel.\n\n"
        "**Contract.** The bound on that error which a kernel claims and derives, for each "
        "position and pair. *pass*: every checked pair keeps it. *no contract*: the kernel claims "
        "nothing there, which is never a pass. The column *error / contract* says how tight the "
        "claim is: near 1 is a sharp bound, far below 1 a loose one.\n\n"
        "**Time.** Median CPU time of the thread for one element of the tensor (rotated or "
        "copied), "
        "with a 95 % interval by the sign test, which assumes nothing about the distribution. In "
        "each of its rounds the kernel ran next to two floors on the same bytes: `memcpy`, and a "
        "loop that scales the tensor in place. *× memcpy* and *× scale* are the medians of the "
        "ratios within the rounds: 1 is as fast as moving the memory, lower is faster, and 1.25 "
        "means 80 % of the floor's speed. Neighbours on the machine change times but hardly the "
        "ratios: compare ratios between machines and runs. Buffers are touched and in cache where "
        "they fit. What was timed was then checked against the oracle: *error* and *verdict* "
        "stand in the same row.\n\n"
        "**Modes.** *apply*: the plan (tables) exists already. *plan+apply*: it is made, used once "
        "and thrown away. *process-cold*: a whole process that starts, plans, applies once and "
        "ends, timed by hyperfine; its floor is the same process with a copy in the kernel's "
        "place.\n\n",
        out);
}

void report_section_columns(FILE *out)
{
    fputs(
        "## Columns of the CSV files\n\n"
        "Both: `run` names the record of the run (`<run>.json`); `kernel`, `pairing`, `dtype`, "
        "`spec` say what was run; `verdict` is pass, fail, or why it was not judged, with its "
        "`reason`. Errors are in u, see above. A field is empty where it does not apply.\n\n"
        "**verify.csv**\n\n"
        "| column | meaning |\n|:---|:---|\n"
        "| truth | exact, or as-trained: exact from inverse frequencies that were rounded to f32 "
        "|\n"
        "| property | what must hold; `tightrope list properties` states each |\n"
        "| arrangement | which part of the cases the row sums up: a band of positions, or all |\n"
        "| positions\\_checked, cases | distinct positions, and comparisons made |\n"
        "| max\\_error\\_u, rms\\_error\\_u | largest and root mean square normwise error |\n"
        "| max\\_ulp | largest error in ulp of the pair's larger component |\n"
        "| correctly\\_rounded | share of components that are the nearest value of the type |\n"
        "| bound\\_u | the contract (or the property's tolerance) at the worst case |\n"
        "| worst\\_position, worst\\_pair, worst\\_x0, worst\\_x1 | the case of the largest error, "
        "or the one that failed; inputs as hex floats |\n"
        "| ratio | the largest error / tolerance of any case of the row |\n"
        "| value, exact\\_value | decay-curve: mean of abs(S\\_j), the kernel's and the exact one "
        "|\n"
        "| replay | the command that repeats the failing case |\n\n"
        "**bench.csv**\n\n"
        "| column | meaning |\n|:---|:---|\n"
        "| tokens, heads, bytes | shape, and size of one tensor |\n"
        "| mode, in\\_place | see *Modes* above; y is x, or another buffer |\n"
        "| ns\\_per\\_element, ns\\_ci\\_low, ns\\_ci\\_high | median and its 95 % interval |\n"
        "| samples | rounds (runs for process-cold) |\n"
        "| gb\\_per\\_s | 10<sup>9</sup> bytes a second, read once and written once |\n"
        "| ratio\\_memcpy, ratio\\_scale (\\_low, \\_high) | time over the floor's, paired by "
        "rounds, with 95 % intervals (process-cold: not paired, 90 %) |\n"
        "| max\\_error\\_u, bound\\_u | of the timed output, and the largest contract there |\n"
        "| first\\_position, last\\_position | of the tokens |\n"
        "| memcpy\\_ns\\_per\\_element, scale\\_ns\\_per\\_element | medians of the floors |\n"
        "| floor\\_spread | interquartile range / median of the noisier floor |\n"
        "| plan\\_bytes | memory that the plan holds |\n\n"
        "**mutants.csv**: `mutant`, its fault's `class`, the kernel that it `mutates`, whether it "
        "was `killed` (yes, no, skipped) and the first `reason`; then a column for each property: "
        "yes (found the fault), no, or empty (not tried).\n\n"
        "**stages.csv**: for a band of positions (`band_first` to `band_end`, excluded) and a "
        "`stage`: what it adds to the mean square error and its `share`; the root mean squares in "
        "u of the model without it, the model and the kernel; `ratio`: model / measured.\n\n"
        "**drift.csv**: `magnitude` of k, `samples`, largest and root mean square change of a "
        "score over |q| |k|.\n\n",
        out);
}

void report_section_citing(FILE *out, const report_model *model)
{
    fputs("## How to cite and repeat\n\n"
          "Cite the commit and the runs, which name everything that a figure depends on:\n\n",
          out);
    const char *commit = "unknown";
    for (size_t i = model->run_count; i-- > 0;) {
        const cJSON *build = cJSON_GetObjectItemCaseSensitive(model->runs[i].root, "build");
        const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(build, "commit"));
        if (text != NULL)
            commit = text;
    }
    fputs("> Tightrope, commit ", out);
    for (const char *c = commit; *c != '\0'; c++)
        if ((*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z'))
            fputc(*c, out);
    fputs(", runs", out);
    for (size_t i = 0; i < model->run_count; i++) {
        fputs(i > 0 ? ", " : " ", out);
        for (const char *c = model->runs[i].id; *c != '\0'; c++)
            if ((*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z'))
                fputc(*c, out);
    }
    fputs(".\n\nTo repeat: check out the commit, run `scripts/setup && make report`, or the "
          "commands above. To redraw this page from its rows, in their folder: "
          "`tightrope report --out DIR *.csv`; the same rows give the same bytes.\n",
          out);
}
