import { expect, test } from "bun:test"
import { Registry } from "../../../pkg/metrics/registry.ts"
import { KubeletMetrics } from "./kubelet-metrics.ts"

const pod = { uid: "u1", namespace: "default", name: "web" }

test("metrics of the kubelet have upstream's names, also in the metrics of the whole program", () => {
  // given
  const shared = new Registry()
  const metrics = new KubeletMetrics({
    nodeName: "n1",
    startedAt: 5000,
    figures: () => ({ pods: 2, containers: { running: 3, exited: 1 } }),
    shared,
  })
  // when
  metrics.podStarted(700)
  // then
  for (const registry of [metrics.kubelet, shared]) {
    expect(registry.text().split("\n")).toEqual(
      expect.arrayContaining([
        'kubelet_node_name{node="n1"} 1',
        "kubelet_running_pods 2",
        'kubelet_running_containers{container_state="running"} 3',
        'kubelet_pod_start_duration_seconds_bucket{le="1"} 1',
      ]),
    )
  }
})

test("probes are counted by their result, as long as their pod exists", () => {
  const metrics = new KubeletMetrics({ nodeName: "n1", startedAt: 5000, figures: () => ({ pods: 0, containers: {} }) })
  // when a container is probed
  metrics.probed(pod, "c", "liveness", true, 20)
  metrics.probed(pod, "c", "liveness", false, 2000)
  // then
  const lines = metrics.probes.text().split("\n")
  expect(lines).toContain(
    'prober_probe_total{container="c",namespace="default",pod="web",pod_uid="u1",probe_type="Liveness",result="successful"} ' +
      "1",
  )
  expect(lines).toContain(
    'prober_probe_total{container="c",namespace="default",pod="web",pod_uid="u1",probe_type="Liveness",result="failed"} ' +
      "1",
  )
  expect(lines).toContain(
    'prober_probe_duration_seconds_bucket{container="c",namespace="default",pod="web",probe_type="Liveness",le="0.025"} ' +
      "1",
  )
  expect(lines).toContain("process_start_time_seconds 5")
  // and when the pod is gone
  metrics.forget("u1")
  expect(metrics.probes.text()).not.toContain("default")
})
