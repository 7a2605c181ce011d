import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { KubeletContext } from "../context.ts"
import { tuningOf } from "../model/tuning.ts"
import type { DeviceManager } from "../devicemanager/device-manager.ts"
import type { NodeReporter } from "./node.ts"
import type { PodWorkers } from "../pod/pod-workers.ts"
import type { Verdict } from "../status/pod-status.ts"
import { admit } from "../admission/admission.ts"
import type { Rejection } from "../model/rejection.ts"

export interface GateParts {
  readonly context: KubeletContext
  readonly node: NodeReporter
  readonly workers: () => PodWorkers
  readonly devices: Pick<DeviceManager, "nodeFor">
}

const PREEMPTED: Verdict = {
  phase: "Failed",
  reason: "Preempting",
  message: "Preempted in order to admit critical pod",
  condition: {
    type: "DisruptionTarget",
    status: "True",
    reason: "TerminationByKubelet",
    message: "Pod was preempted by Kubelet to accommodate a critical pod.",
  },
}

/**
 * Checks pods one after the other, in the order of the calls, each against all pods admitted before. Of two pods that
 * exclude each other exactly one runs, even when a check has to ask the API or wait for other pods to end.
 */
export class AdmissionGate {
  readonly #parts: GateParts
  #last: Promise<unknown> = Promise.resolve()

  constructor(parts: GateParts) {
    this.#parts = parts
  }

  /**
   * Returns why the node rejects the pod; undefined when it is admitted. `taken` is called at the moment of admission.
   * @throws the reason of `signal` when it aborts before the pod's turn, so that no pod is preempted for a pod that is
   * gone
   */
  admit(pod: Pod, taken: () => void, signal: AbortSignal): Promise<Rejection | undefined> {
    const admitted = this.#last.then(async () => {
      signal.throwIfAborted()
      const rejection = await this.#check(pod)
      if (rejection === undefined) taken()
      return rejection
    })
    this.#last = admitted.catch(() => undefined)
    return admitted
  }

  #check(pod: Pod): Promise<Rejection | undefined> {
    const { context, node, workers, devices } = this.#parts
    const seen = node.nodeAnyWay
    const { client, config, events, runtime } = context
    return admit({
      pod,
      others: () => workers().othersThan(pod),
      ownPorts: context.ownPorts,
      unsafeSysctls: tuningOf(config).unsafeSysctls,
      node: seen === undefined ? undefined : devices.nodeFor(pod, seen),
      pressure: node.pressure,
      hasAppArmor: runtime.machine.hasAppArmor,
      operatingSystem: runtime.machine.info.operatingSystem,
      freshNode: () => client.get(Node, { name: config.nodeName }),
      preempt: async (pods, critical) => {
        context.log.info("Ending pods to free resources for a critical pod", {
          pod: `${critical.metadata.namespace}/${critical.metadata.name}`,
          pods: pods.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
        })
        await Promise.all(
          pods.map((other) => {
            events.event(other, "Warning", PREEMPTED.reason, PREEMPTED.message)
            return workers().end(other, PREEMPTED)
          }),
        )
      },
    })
  }
}
