#include "bench/gbench_shim.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace
{

// Keeps the figures and prints nothing; the default reporters print the context of the library.
class Collector : public benchmark::BenchmarkReporter
{
  public:
    std::vector<double> nanoseconds;
    bool failed = false;

    bool ReportContext(const Context &) override
    {
        return true;
    }
    void ReportRuns(const std::vector<Run> &runs) override
    {
        for (const Run &run : runs) {
            failed |= run.error_occurred || !(run.GetAdjustedCPUTime() >= 0);
            nanoseconds.push_back(run.GetAdjustedCPUTime());
        }
    }
};

// Runs the subjects in the order given; iterations 0 = as many as `seconds` need.
bool run(const bench_subject *subjects, const std::vector<int> &order, double seconds,
         const std::vector<int64_t> &iterations, std::vector<double> *nanoseconds)
{
    for (int index : order) {
        const bench_subject subject = subjects[index];
        auto *registered =
            benchmark::RegisterBenchmark(subject.name, [subject](benchmark::State &state) {
                for (auto _ : state) {
                    subject.body(subject.context);
                    benchmark::ClobberMemory();
                }
            });
        registered->Unit(benchmark::kNanosecond)->Repetitions(1);
        if (iterations.empty())
            registered->MinTime(seconds);
        else
            registered->Iterations(iterations[static_cast<size_t>(index)]);
    }
    Collector collector;
    benchmark::RunSpecifiedBenchmarks(&collector, nullptr, "all");
    benchmark::ClearRegisteredBenchmarks();
    if (collector.failed || collector.nanoseconds.size() != order.size())
        return false;
    for (size_t i = 0; i < order.size(); i++)
        (*nanoseconds)[static_cast<size_t>(order[i])] = collector.nanoseconds[i];
    return true;
}

} // namespace

extern "C" bool bench_gbench_rounds(const bench_subject *subjects, int count, int rounds,
                                    double seconds, double *nanoseconds)
{
    try {
        if (count < 1 || count > BENCH_MAX_SUBJECTS || rounds < 1 || !(seconds > 0))
            return false;
        std::vector<int> order;
        for (int i = 0; i < count; i++)
            order.push_back(i);
        std::vector<double> figures(static_cast<size_t>(count));
        if (!run(subjects, order, seconds, {}, &figures))
            return false;
        std::vector<int64_t> iterations;
        for (double figure : figures)
            iterations.push_back(
                std::max<int64_t>(1, std::llround(seconds * 1e9 / std::max(figure, 1e-3))));
        for (int round = 0; round < rounds; round++) {
            if (!run(subjects, order, seconds, iterations, &figures))
                return false;
            std::copy(figures.begin(), figures.end(), nanoseconds + round * count);
            std::reverse(order.begin(), order.end());
        }
        return true;
    } catch (...) {
        benchmark::ClearRegisteredBenchmarks();
        return false;
    }
}
