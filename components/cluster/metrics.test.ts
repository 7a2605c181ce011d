import { expect, test } from "bun:test"
import { Registry } from "../../pkg/metrics/registry.ts"
import { controllerMetrics, schedulerMetrics } from "./metrics.ts"

test("metrics of controllers and the scheduler have upstream's names and labels", () => {
  // given
  const registry = new Registry()
  const controllers = controllerMetrics(registry, { monotonic: () => 5000 })
  const scheduler = schedulerMetrics(registry)
  // when
  const queue = controllers.queue("deployment")
  queue.added()
  queue.taken(20)
  queue.working?.(() => [1000, 3000])
  queue.retried()
  controllers.queued("deployment", 4)
  controllers.reconciled("deployment", "success", 200)
  scheduler.attempted("scheduled", 3, "default-scheduler")
  scheduler.searched(2)
  scheduler.placed(2, 15)
  scheduler.placed(40, 15)
  scheduler.asked("GpuSpread", "filter", "Error", 1000)
  // then
  const lines = registry.text().split("\n")
  expect(lines).toEqual(
    expect.arrayContaining([
      'workqueue_adds_total{name="deployment"} 1',
      'workqueue_depth{name="deployment"} 4',
      'workqueue_retries_total{name="deployment"} 1',
      'workqueue_queue_duration_seconds_bucket{name="deployment",le="0.1"} 1',
      'workqueue_work_duration_seconds_sum{name="deployment"} 0.2',
      'scheduler_schedule_attempts_total{result="scheduled",profile="default-scheduler"} 1',
      'scheduler_plugin_execution_duration_seconds_count{plugin="GpuSpread",extension_point="filter",status="Error"} 1',
      'scheduler_pod_scheduling_attempts_bucket{le="2"} 1',
      'scheduler_scheduling_algorithm_duration_seconds_bucket{le="0.002"} 1',
      'scheduler_pod_scheduling_sli_duration_seconds_bucket{attempts="2",le="0.02"} 1',
      'scheduler_pod_scheduling_sli_duration_seconds_count{attempts="15+"} 1',
    ]),
  )
})
