import { list } from "../cli/flags.ts"
import { impliedByKubeletArgs, kubeletArg, splitKubeletArgs } from "./kubelet-args.ts"

/** The flag with the settings of the kubelet, of servers and agents. */
export const kubeletFlags = {
  "kubelet-arg": list(
    kubeletArg,
    "Setting of the kubelet: max-pods; pods-per-core; pod-max-pids; sync-frequency, how long volumes may lag behind their ConfigMaps " +
      "(0s for not at all); eviction-hard and eviction-soft, as in eviction-hard=memory.available<500Mi; kube-reserved " +
      "and system-reserved; image-gc-high-threshold; max-parallel-image-pulls; config, a file with a " +
      "KubeletConfiguration; config-dir; and others that an error lists",
    {
      placeholder: "NAME=VALUE",
      defaultText: "max-pods=110,sync-frequency=1m",
      split: splitKubeletArgs,
      implies: impliedByKubeletArgs,
    },
  ),
} as const
