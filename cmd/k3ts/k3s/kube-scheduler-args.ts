/** What becomes of the flags of Kubernetes' kube-scheduler. Source: cmd/kube-scheduler/app/options. */
import {
  CLIENT_FLAGS,
  COMPATIBILITY_FLAGS,
  LEADER_FLAGS,
  LOG_FLAGS,
  METRICS_FLAGS,
  PROFILE_FLAGS,
  SERVING_FLAGS,
  VERSION_FLAGS,
} from "./component-args.ts"
import { idle, refused, renamed, same, type UpstreamFlags } from "./upstream-arg.ts"

export const KUBE_SCHEDULER_FLAGS: UpstreamFlags = {
  ...LOG_FLAGS,
  ...METRICS_FLAGS,
  ...VERSION_FLAGS,
  ...COMPATIBILITY_FLAGS,
  ...SERVING_FLAGS,
  ...LEADER_FLAGS,
  ...PROFILE_FLAGS,
  ...same(["feature-gates"]),
  ...renamed({ config: "scheduler-config" }),
  ...refused("give a file with --scheduler-config, which holds what the program would write", ["write-config-to"]),
  ...idle("the scheduler is a part of k3ts and reaches the API server by itself", CLIENT_FLAGS),
  ...idle("a pod without a place is tried again when something changes, and after five minutes", [
    "pod-max-in-unschedulable-pods-duration",
  ]),
}
