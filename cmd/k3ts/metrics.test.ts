import { expect, test } from "bun:test"
import type { Kubelet } from "../../components/kubelet/kubelet.ts"
import { Registry } from "../../pkg/metrics/registry.ts"
import { controllerMetrics, kubeletMetrics, schedulerMetrics } from "./metrics.ts"

test("figures of controllers, scheduler and kubelet have upstream's names and labels", () => {
  // given
  const registry = new Registry()
  const controllers = controllerMetrics(registry)
  const scheduler = schedulerMetrics(registry)
  const figures: ReturnType<Kubelet["figures"]> = { pods: 2, containers: { running: 3, exited: 1 } }
  const kubelet = kubeletMetrics(registry, () => ({ figures: () => figures }) as Kubelet)
  // when
  const queue = controllers.queue("deployment")
  queue.added()
  queue.taken(20)
  queue.retried()
  controllers.queued("deployment", 4)
  controllers.reconciled("deployment", "success", 200)
  scheduler.attempted("scheduled", 3)
  scheduler.placed(2)
  kubelet.podStarted(700)
  // then
  const lines = registry.text().split("\n")
  expect(lines).toEqual(expect.arrayContaining([
    'workqueue_adds_total{name="deployment"} 1',
    'workqueue_depth{name="deployment"} 4',
    'workqueue_retries_total{name="deployment"} 1',
    'workqueue_queue_duration_seconds_bucket{name="deployment",le="0.1"} 1',
    'workqueue_work_duration_seconds_sum{name="deployment"} 0.2',
    'scheduler_schedule_attempts_total{result="scheduled",profile="default-scheduler"} 1',
    'scheduler_pod_scheduling_attempts_bucket{le="2"} 1',
    "kubelet_running_pods 2",
    'kubelet_running_containers{container_state="running"} 3',
    'kubelet_pod_start_duration_seconds_bucket{le="1"} 1',
  ]))
})
