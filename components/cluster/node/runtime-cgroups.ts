import type { Component } from "../../../pkg/component/component.ts"
import type { CgroupDriver } from "../../../pkg/cri/cgroup-driver.ts"
import type { RuntimeService } from "../../../pkg/cri/service.ts"
import type { Logger } from "../../../pkg/log/log.ts"

/** The part that asks a runtime, and what it has found. */
export interface RuntimeCgroups extends Component {
  readonly driver: CgroupDriver
}

const TIMEOUT_MS = 10_000

/**
 * Asks a container runtime of the user who makes the cgroups of pods, which must be the same here: with another driver
 * the kubelet would look for a pod's cgroup where it is not. Until it answers, and where it does not, it is `presumed`.
 * Source: pkg/kubelet getCgroupDriverFromCRI.
 */
export function runtimeCgroups(
  runtime: Pick<RuntimeService, "cgroupDriver">,
  presumed: CgroupDriver,
  log: Logger,
): RuntimeCgroups {
  let driver = presumed
  return {
    name: "runtime-cgroups",
    get driver() {
      return driver
    },
    async start() {
      try {
        driver = (await runtime.cgroupDriver({ timeoutMs: TIMEOUT_MS })) ?? presumed
      } catch (error) {
        log.warn("Cannot ask the container runtime for its cgroup driver", { presumed, error })
      }
    },
    stop: () => Promise.resolve(),
  }
}
