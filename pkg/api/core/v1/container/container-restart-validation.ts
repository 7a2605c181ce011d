import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  duplicate,
  invalidValue,
  notSupported,
  required,
  tooMany,
} from "../../../../apimachinery/validation/field-errors.ts"
import type { Container, EphemeralContainer } from "./container.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/**
 * Validates when a container is started again. Source: validateContainerRestartPolicy and validateResizePolicy in
 * pkg/apis/core/validation/validation.go.
 */

const MOST_RULES = 20
const MOST_EXIT_CODES = 255
const ACTIONS = ["Restart", "RestartAllContainers"]
const OPERATORS = ["In", "NotIn"]

const NO_POLICY = required("restartPolicy", "must specify restartPolicy when restart rules are used")

/** Validates the restart rules. The values of restartPolicy itself are checked by its declaration. */
export function restartFaults({ restartPolicy, restartPolicyRules: rules = [] }: Container): readonly Cause[] {
  const causes: Cause[] = []
  if (restartPolicy === undefined && rules.length > 0) causes.push(NO_POLICY)
  if (rules.length > MOST_RULES) causes.push(tooMany("restartPolicyRules", rules.length, MOST_RULES))
  for (const [i, { action, exitCodes }] of rules.entries()) {
    const here = at("restartPolicyRules", i)
    if (!ACTIONS.includes(action)) causes.push(notSupported(at(here, "action"), action, ACTIONS))
    if (exitCodes === undefined) {
      causes.push(required(at(here, "exitCodes"), "must be specified"))
      continue
    }
    const { operator, values = [] } = exitCodes
    if (!OPERATORS.includes(operator)) causes.push(notSupported(at(here, "exitCodes", "operator"), operator, OPERATORS))
    if (values.length > MOST_EXIT_CODES)
      causes.push(tooMany(at(here, "exitCodes", "values"), values.length, MOST_EXIT_CODES))
  }
  return causes
}

/**
 * Validates the restart rules of an init container, which are checked only if it has a restart policy. Source:
 * validateInitContainerRestartPolicy.
 */
export function initRestartFaults(container: Container): readonly Cause[] {
  const { restartPolicy, restartPolicyRules: rules = [] } = container
  return restartPolicy === undefined && rules.length > 0 ? [NO_POLICY] : restartFaults(container)
}

const RESOURCES = ["cpu", "memory"]
const POLICIES = ["NotRequired", "RestartContainer"]

/**
 * Validates whether a change of resources restarts a container. For most faults upstream gives the path of the list and
 * not of the item.
 */
export function resizePolicyFaults(
  { resizePolicy }: Container | EphemeralContainer,
  podRestartPolicy: string,
): readonly Cause[] {
  const seen = new Set<string>()
  return (resizePolicy ?? []).flatMap(({ resourceName, restartPolicy }, i) => {
    const causes: Cause[] = []
    if (seen.has(resourceName)) causes.push(duplicate(at("resizePolicy", i), resourceName))
    seen.add(resourceName)
    pushAll(causes, oneOf(resourceName, RESOURCES), oneOf(restartPolicy, POLICIES))
    if (podRestartPolicy === "Never" && restartPolicy !== "NotRequired")
      causes.push(
        invalidValue("resizePolicy", restartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"),
      )
    return causes
  })
}

const oneOf = (value: string, allowed: readonly string[]): readonly Cause[] =>
  value === ""
    ? [required("resizePolicy")]
    : allowed.includes(value)
      ? []
      : [notSupported("resizePolicy", value, allowed)]

/** An init container that has ended before the change could only be resized by a restart, which it does not get. */
export const initResizeFaults = ({ resizePolicy = [] }: Container): readonly Cause[] =>
  resizePolicy.flatMap(({ restartPolicy }, i) =>
    restartPolicy === "RestartContainer"
      ? [
          invalidValue(
            at("resizePolicy", i, "restartPolicy"),
            restartPolicy,
            "must not be set to 'RestartContainer' for non-sidecar initContainers",
          ),
        ]
      : [],
  )
