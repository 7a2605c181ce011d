/**
 * Reads the Pod Security levels from the labels of a namespace. Source: k8s.io/pod-security-admission/api/helpers.go.
 */
import type { Cause } from "../../../../../pkg/apimachinery/errors.ts"
import { atKey, invalidValue } from "../../../../../pkg/apimachinery/validation/field-errors.ts"

export const LABEL_PREFIX = "pod-security.kubernetes.io/"
const LEVELS = ["privileged", "baseline", "restricted"] as const
export type Level = (typeof LEVELS)[number]

export interface Standard {
  readonly level: Level
  /** `latest`, or a version such as `v1.25`, whose rules are applied. */
  readonly version: string
}

/**
 * The levels whose violations are refused (`enforce`), annotated in the audit event (`audit`) and warned about
 * (`warn`).
 */
export interface Policy {
  readonly enforce: Standard
  readonly audit: Standard
  readonly warn: Standard
  /** The labels with an unknown level or version. */
  readonly faults: readonly Cause[]
}

/** What namespaces without labels have. */
export type PolicyDefaults = Omit<Policy, "faults">

const PRIVILEGED: Standard = { level: "privileged", version: "latest" }
const NO_POLICY: PolicyDefaults = { enforce: PRIVILEGED, audit: PRIVILEGED, warn: PRIVILEGED }

export type PolicyReader = (labels: Readonly<Record<string, string>> | undefined) => Policy

/** Returns what reads the policy of a namespace's labels. The result is cached by the labels object. */
export function policyReader(defaults: PolicyDefaults = NO_POLICY): PolicyReader {
  const known = new WeakMap<object, Policy>()
  const unlabelled = { ...defaults, faults: [] }
  return (labels) => {
    if (labels === undefined) return unlabelled
    let policy = known.get(labels)
    if (policy === undefined) known.set(labels, (policy = parsed(labels, defaults)))
    return policy
  }
}

function parsed(labels: Readonly<Record<string, string>>, defaults: PolicyDefaults): Policy {
  const faults: Cause[] = []
  /**
   * Reads level and version of one mode. An unknown level counts as restricted for `enforce`, and as privileged for
   * `audit` and `warn`.
   */
  const standard = (mode: keyof PolicyDefaults, whenUnknown: Level): Standard => {
    const level = labels[`${LABEL_PREFIX}${mode}`]
    const version = labels[`${LABEL_PREFIX}${mode}-version`]
    const levelKnown = level === undefined || isLevel(level)
    const versionKnown = version === undefined || isVersion(version)
    if (!levelKnown) faults.push(invalidValue(atKey("metadata.labels", `${LABEL_PREFIX}${mode}`), level, LEVEL_RULE))
    if (!versionKnown)
      faults.push(invalidValue(atKey("metadata.labels", `${LABEL_PREFIX}${mode}-version`), version, VERSION_RULE))
    return {
      level: level === undefined ? defaults[mode].level : levelKnown ? level : whenUnknown,
      version: versionKnown ? (version ?? defaults[mode].version) : "latest",
    }
  }
  const enforce = standard("enforce", "restricted")
  const audit = standard("audit", "privileged")
  const warn = standard("warn", "privileged")
  // Without a label for warnings, workloads get warnings about the enforced level, so that users learn early that the
  // pods will be refused.
  const wanted = labels[`${LABEL_PREFIX}enforce`]
  if (labels[`${LABEL_PREFIX}warn`] !== undefined || wanted === undefined || !isLevel(wanted))
    return { enforce, audit, warn, faults }
  const version = labels[`${LABEL_PREFIX}warn-version`] === undefined ? enforce.version : warn.version
  return { enforce, audit, warn: isStricter(enforce, warn) ? { level: enforce.level, version } : warn, faults }
}

export const LEVEL_RULE = `must be one of ${LEVELS.join(", ")}`
export const VERSION_RULE = 'must be "latest" or "v1.x"'

export const isVersion = (version: string): boolean => version === "latest" || /^v1\.(0|[1-9][0-9]*)$/.test(version)
export const isLevel = (level: string): level is Level => (LEVELS as readonly string[]).includes(level)

export const isPrivileged = ({ level }: Standard): boolean => level === "privileged"
export const isStricter = (a: Standard, b: Standard): boolean => LEVELS.indexOf(a.level) > LEVELS.indexOf(b.level)
export const sameStandard = (a: Standard, b: Standard): boolean => a.level === b.level && a.version === b.version
export const standardText = ({ level, version }: Standard): string => `${level}:${version}`
