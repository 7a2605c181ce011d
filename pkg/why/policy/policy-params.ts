import { fromLabelSelector } from "../../apimachinery/selectors/labels.ts"
import { nearest } from "../../names/suggest.ts"
import { finding, mend, type Finding } from "../answer.ts"
import { command } from "../command.ts"
import type { Ward } from "../doctor.ts"
import { POLICY_BINDINGS, VALIDATING_POLICIES } from "../reading/kinds.ts"

/** A request that a policy refuses because its binding names parameters that are not there. */
interface Refused {
  readonly policy: string
  readonly binding: string
  /** The namespace of the object, in which parameters are looked for where the binding names no other. */
  readonly namespace: string
  readonly what: string
  readonly evidence: readonly string[]
  readonly ward: Ward
}

/** Returns which parameters a binding of an admission policy names that do not exist; undefined where it cannot be read. */
export async function missingParams(refused: Refused): Promise<Finding | undefined> {
  const { policy, binding, namespace: own, what, evidence, ward } = refused
  const [found, bound] = await Promise.all([
    ward.reader.get(VALIDATING_POLICIES, undefined, policy).catch(() => undefined),
    ward.reader.get(POLICY_BINDINGS, undefined, binding).catch(() => undefined),
  ])
  const paramKind = found?.spec.paramKind
  const reference = bound?.spec.paramRef
  if (paramKind === undefined || reference === undefined) return undefined
  const { apiVersion = "", kind = "" } = paramKind
  const served = await ward.reader.kindOf({ apiVersion, kind })
  const namespace = served?.namespaced === false ? undefined : reference.namespace || own
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`
  const { name } = reference
  const named = name
    ? `${kind} ${name}, which binding ${binding} names as its parameters, does not exist${where}`
    : `no ${kind}${where} has the labels ${fromLabelSelector(reference.selector).toString()}, by which binding ${binding} selects its parameters`
  const there = served === undefined ? undefined : await ward.reader.listIfAllowed(served, namespace)
  const near = name
    ? nearest(
        name,
        (there ?? []).map(({ metadata }) => metadata.name ?? ""),
      )
    : undefined
  return finding(
    "policy-params-missing",
    `ValidatingAdmissionPolicy ${policy} refuses ${what}: ${named}${near === undefined ? "" : `; there is ${near}`}`,
    {
      evidence,
      mends:
        near === undefined
          ? []
          : [
              mend(
                command`kubectl patch validatingadmissionpolicybinding ${binding} --type=merge -p ${JSON.stringify({ spec: { paramRef: { name: near } } })}`,
                `takes the parameters from ${kind} ${near}`,
              ),
            ],
      hints: ["create the parameters, or set parameterNotFoundAction: Allow in the binding"],
    },
  )
}
