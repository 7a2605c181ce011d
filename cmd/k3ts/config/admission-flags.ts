import { PLUGIN_NAMES, type AdmissionOptions } from "../../../components/apiserver/admission/admission-settings.ts"
import type { TolerationSeconds } from "../../../components/apiserver/admission/plugins/defaulttolerationseconds.ts"
import { list, value, type FlagsOf } from "../cli/flags.ts"
import { textThat } from "../cli/flag-type.ts"
import { didYouMean } from "../../../pkg/names/suggest.ts"
import * as v from "../cli/values.ts"

const plugin = textThat(
  (name) => PLUGIN_NAMES.includes(name),
  (name) => `must be an admission plugin${didYouMean(name, PLUGIN_NAMES) || `: one of ${PLUGIN_NAMES.join(", ")}`}`,
)

/** Which admission plugins are on, and what they are told. */
export const admissionFlags = {
  "enable-admission-plugins": list(plugin, "Admission plugin to turn on: one that is off by default", {
    placeholder: "NAME",
  }),
  "disable-admission-plugins": list(plugin, "Admission plugin to turn off", { placeholder: "NAME" }),
  "admission-control-config-file": value(
    v.fileToRead.optional(),
    "File with an AdmissionConfiguration: what the admission plugins are told",
    { placeholder: "FILE", path: true },
  ),
  "default-not-ready-toleration-seconds": value(v.count.prefault("300"), "How long pods stay on a node not ready", {
    placeholder: "SECONDS",
    defaultText: "300",
  }),
  "default-unreachable-toleration-seconds": value(
    v.count.prefault("300"),
    "How long pods stay on a node that cannot be reached",
    { placeholder: "SECONDS", defaultText: "300" },
  ),
}
type AdmissionFlags = FlagsOf<typeof admissionFlags>

/** Returns what the flags say of plugins; undefined where they say nothing. */
export function admissionOf(flags: AdmissionFlags): AdmissionOptions | undefined {
  const {
    "enable-admission-plugins": enabled,
    "disable-admission-plugins": disabled,
    "admission-control-config-file": configFile,
  } = flags
  return enabled.length === 0 && disabled.length === 0 && configFile === undefined
    ? undefined
    : { enabled, disabled, configFile }
}

export const tolerationSecondsOf = (flags: AdmissionFlags): TolerationSeconds => ({
  notReady: flags["default-not-ready-toleration-seconds"],
  unreachable: flags["default-unreachable-toleration-seconds"],
})
