import type { Logger } from "../../../pkg/log/log.ts"
import type { GivenSetting } from "../config/kubelet-args.ts"
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
}
