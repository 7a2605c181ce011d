import { e, f, message, type ObjectOf } from "../../../../../pkg/apimachinery/fields.ts"
import type { Cause } from "../../../../../pkg/apimachinery/errors.ts"
import { duplicate, invalidValue } from "../../../../../pkg/apimachinery/validation/field-errors.ts"
import {
  isDNS1123Label,
  isDNS1123Subdomain,
  oneProblem,
  type Check,
} from "../../../../../pkg/apimachinery/validation/names.ts"
import type { ConfigurationKind } from "../../../../../pkg/config-file/config-file.ts"
import type { PodSecuritySettings } from "./podsecurity-settings.ts"
import { isLevel, isVersion, LEVEL_RULE, VERSION_RULE, type Level, type Standard } from "./policy.ts"

const Defaults = message("podsecurity.PodSecurityDefaults", "What namespaces without labels have.", {
  enforce: f.string(1, "The level whose violations are refused.").default("privileged"),
  "enforce-version": f.string(2, "Its version.").default("latest"),
  audit: f.string(3, "The level whose violations are noted in audit events.").default("privileged"),
  "audit-version": f.string(4, "Its version.").default("latest"),
  warn: f.string(5, "The level whose violations are warned about.").default("privileged"),
  "warn-version": f.string(6, "Its version.").default("latest"),
})
const Exemptions = message("podsecurity.PodSecurityExemptions", "Whose pods are not checked.", {
  usernames: f.list(1, e.string, "Users that make pods."),
  namespaces: f.list(2, e.string, "Namespaces."),
  runtimeClasses: f.list(3, e.string, "Runtime classes of pods."),
})
const Configuration = message("podsecurity.PodSecurityConfiguration", "The Pod Security Standards of the cluster.", {
  defaults: f.message(1, Defaults, "What namespaces without labels have.").always(),
  exemptions: f.message(2, Exemptions, "Whose pods are not checked.").always(),
})

/** Source: pod-security-admission admission/api, admission/api/validation. */
export const POD_SECURITY: ConfigurationKind<typeof Configuration> = {
  apiVersions: [
    "pod-security.admission.config.k8s.io/v1",
    "pod-security.admission.config.k8s.io/v1beta1",
    "pod-security.admission.config.k8s.io/v1alpha1",
  ],
  kind: "PodSecurityConfiguration",
  schema: Configuration,
  validate: ({ defaults, exemptions: { namespaces, runtimeClasses, usernames } }) => [
    ...(["enforce", "warn", "audit"] as const).flatMap((mode) => [
      ...(isLevel(defaults[mode]) ? [] : [invalidValue(`defaults.${mode}`, defaults[mode], LEVEL_RULE)]),
      ...(isVersion(defaults[`${mode}-version`])
        ? []
        : [invalidValue(`defaults.${mode}-version`, defaults[`${mode}-version`], VERSION_RULE)]),
    ]),
    ...listCauses("exemptions.namespaces", namespaces, isDNS1123Label),
    ...listCauses("exemptions.runtimeClasses", runtimeClasses, isDNS1123Subdomain),
    ...listCauses("exemptions.usernames", usernames, (name) =>
      name === "" ? "username must not be empty" : undefined,
    ),
  ],
}

/** Returns what PodSecurity gets. */
export function podSecuritySettings({ defaults, exemptions }: ObjectOf<typeof Configuration>): PodSecuritySettings {
  const standard = (mode: "enforce" | "audit" | "warn"): Standard => ({
    level: defaults[mode] as Level,
    version: defaults[`${mode}-version`],
  })
  return {
    defaults: { enforce: standard("enforce"), audit: standard("audit"), warn: standard("warn") },
    exemptions,
  }
}

function listCauses(path: string, names: readonly string[] = [], check: Check): readonly Cause[] {
  return names.flatMap((name, i) => {
    const problem = check(name)
    if (problem !== undefined) return [invalidValue(`${path}[${i}]`, name, oneProblem(problem, ", "))]
    return names.indexOf(name) < i ? [duplicate(`${path}[${i}]`, name)] : []
  })
}
