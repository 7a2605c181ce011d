import { KUBE_APISERVER_FLAGS } from "./kube-apiserver-args.ts"
import { KUBE_CONTROLLER_MANAGER_FLAGS } from "./kube-controller-manager-args.ts"
import { KUBE_PROXY_FLAGS } from "./kube-proxy-args.ts"
import { KUBE_SCHEDULER_FLAGS } from "./kube-scheduler-args.ts"
import { KUBELET_FLAGS } from "./kubelet-args.ts"
import type { UpstreamFlags } from "./upstream-arg.ts"

/** The flags of all programs, by the flag of k3s that passes them. */
export const PROGRAMS: Readonly<Record<string, UpstreamFlags>> = {
  "kube-apiserver": KUBE_APISERVER_FLAGS,
  "kube-controller-manager": KUBE_CONTROLLER_MANAGER_FLAGS,
  "kube-scheduler": KUBE_SCHEDULER_FLAGS,
  "kube-proxy": KUBE_PROXY_FLAGS,
  kubelet: KUBELET_FLAGS,
}
