import type { Logger } from "../../../pkg/log/log.ts"
import type { GivenSetting } from "../config/given-setting.ts"
import { configurationIn } from "../config/kubelet-args.ts"
import { flagsOf, WITHOUT_EFFECT } from "./passed-flags.ts"

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
    const flag = flagsOf(program)[name]
    const why = flag === undefined || "done" in flag ? "" : "idle" in flag ? flag.idle : "why" in flag ? flag.why : ""
    log.warn("A flag means nothing here", { flag: `--${program}-arg ${name}`, why })
  }
  tellConfiguration(flags, log)
}

/** Logs what of a KubeletConfiguration means nothing here, or on this node. */
function tellConfiguration(flags: Given, log: Logger): void {
  const read = configurationIn(flags["kubelet-arg"])
  if (read === undefined) return
  for (const { file, field, why } of read.idle)
    log.warn("A field of the KubeletConfiguration means nothing here", { file, field, why })
  for (const [flag, { source }] of read.flags)
    if (!(flag in flags))
      log.warn("A field of the KubeletConfiguration means nothing at an agent", {
        field: source,
        why: `all nodes of a cluster have the same: give its servers --${flag}`,
      })
  if (read.skipped.length > 0)
    log.warn("Files do not end with .conf, and are no KubeletConfiguration for that", { files: read.skipped })
}
