import type { Logger } from "../../../pkg/log/log.ts"
import type { GivenSetting } from "../config/kubelet-args.ts"
import { KUBE_APISERVER_FLAGS } from "./kube-apiserver-args.ts"
import { KUBE_CONTROLLER_MANAGER_FLAGS } from "./kube-controller-manager-args.ts"
import { KUBE_PROXY_FLAGS } from "./kube-proxy-args.ts"
import { KUBE_SCHEDULER_FLAGS } from "./kube-scheduler-args.ts"
import { KUBELET_FLAGS } from "./kubelet-args.ts"
import { WITHOUT_EFFECT, type UpstreamFlags } from "./upstream-arg.ts"

/** The flags of all programs, by the flag of k3s that passes them. */
export const PROGRAMS: Readonly<Record<string, UpstreamFlags>> = {
  "kube-apiserver": KUBE_APISERVER_FLAGS,
  "kube-controller-manager": KUBE_CONTROLLER_MANAGER_FLAGS,
  "kube-scheduler": KUBE_SCHEDULER_FLAGS,
  "kube-proxy": KUBE_PROXY_FLAGS,
  kubelet: KUBELET_FLAGS,
}

interface Given {
  readonly [WITHOUT_EFFECT]: readonly string[]
  readonly "kubelet-arg": readonly GivenSetting[]
}

/** Logs the flags of Kubernetes' programs that were given and mean nothing here, with the reason, once each. */
export function tellWithoutEffect(flags: Given, log: Logger): void {
  const ofKubelet = flags["kubelet-arg"].flatMap(({ withoutEffect }) =>
    withoutEffect === undefined ? [] : [`kubelet/${withoutEffect}`],
  )
  for (const given of new Set([...flags[WITHOUT_EFFECT], ...ofKubelet])) {
    const [program = "", name = ""] = given.split("/")
    const flag = PROGRAMS[program]?.[name]
    const why = flag === undefined || "done" in flag ? "" : "idle" in flag ? flag.idle : "why" in flag ? flag.why : ""
    log.warn("A flag means nothing here", { flag: `--${program}-arg ${name}`, why })
  }
}
