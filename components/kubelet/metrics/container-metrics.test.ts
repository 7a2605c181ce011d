import { expect, test } from "bun:test"
import type { PodStatus } from "../../../pkg/api/core/v1/pod/podstatus.ts"
import { Registry } from "../../../pkg/metrics/registry.ts"
import { ContainerMetrics } from "./container-metrics.ts"

const ended = (name: string, exitCode: number, reason: string) => ({
  name,
  state: { terminated: { exitCode, reason } },
})
const running = (name: string) => ({ name, state: { running: {} } })
const status = (lists: object) => lists as unknown as PodStatus
const seriesOf = (registry: Registry) =>
  registry
    .text()
    .split("\n")
    .filter((line) => line.startsWith("kubelet_"))
    .toSorted()

test("the end of a container is counted once, with its type, exit code and reason", () => {
  const registry = new Registry()
  const metrics = new ContainerMetrics([registry])
  // given a container and an init container that end
  const first = status({ containerStatuses: [running("a"), running("b")] })
  const second = status({
    initContainerStatuses: [ended("init", 0, "Completed")],
    containerStatuses: [ended("a", 139, "Error"), running("b")],
  })
  // when the kubelet reports it twice
  metrics.reported(first, second)
  metrics.reported(second, second)
  // then
  expect(seriesOf(registry)).toEqual([
    'kubelet_terminated_containers_total{container_type="container",exit_code="139",reason="Error"} 1',
    'kubelet_terminated_containers_total{container_type="init_container",exit_code="0",reason="Completed"} 1',
  ])
  // and when it runs and ends again, that end is counted too
  metrics.reported(second, first)
  metrics.reported(first, second)
  expect(seriesOf(registry)).toContain(
    'kubelet_terminated_containers_total{container_type="container",exit_code="139",reason="Error"} 2',
  )
})

test("starts are counted for each type of container, and those that fail with their reason", () => {
  const registry = new Registry()
  const metrics = new ContainerMetrics([registry])
  // when
  metrics.startsPod()
  metrics.starts("sidecar")
  metrics.starts("regular")
  metrics.failed("regular", "ErrImagePull")
  // then
  expect(seriesOf(registry)).toEqual([
    'kubelet_started_containers_errors_total{container_type="container",code="ErrImagePull"} 1',
    'kubelet_started_containers_total{container_type="container"} 1',
    'kubelet_started_containers_total{container_type="init_container"} 1',
    "kubelet_started_pods_total 1",
  ])
})
