import type { KubeObject } from "../../apimachinery/resource.ts"
import { finding, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { accountFinding } from "../pod/references.ts"
import { LIMIT_RANGES, NAMESPACES, QUOTAS } from "../reading/kinds.ts"
import { missingParams } from "./policy-params.ts"
import { webhookFinding } from "./webhook.ts"

/** What was refused: whose it is, a word for it, and what shows the refusal. */
interface Refused {
  readonly object: KubeObject
  readonly namespace: string
  readonly what: string
  readonly evidence: readonly string[]
  readonly ward: Ward
}

/** Those who refuse, by their words in the message of the API server. */
interface Refuser {
  readonly words: RegExp
  readonly explain: (match: readonly string[], refused: Refused) => Finding | undefined | Promise<Finding | undefined>
}

const REFUSERS: readonly Refuser[] = [
  {
    words: /exceeded quota: ([\w.-]+), (requested: .*)$/,
    async explain([, name = "", amounts = ""], { namespace, what, evidence, ward }) {
      const quota = await ward.reader.get(QUOTAS, namespace, name)
      const now = quota === undefined ? [] : [`quota now: ${usage(quota.status.used, quota.status.hard)}`]
      return finding("quota-exceeded", `ResourceQuota ${namespace}/${name} does not allow ${what}: ${amounts}`, {
        evidence: [...evidence, ...now],
        hints: ["delete what is not needed in the namespace, request less, or raise the quota"],
      })
    },
  },
  {
    words: /failed quota: ([\w.-]+): must specify (.+)$/,
    explain: ([, name = "", fields = ""], { namespace, what, evidence }) =>
      finding(
        "quota-needs-requests",
        `ResourceQuota ${namespace}/${name} counts ${fields.trim()}, and the containers of ${what} do not set it`,
        { evidence, hints: ["set these in the container, or defaults by a LimitRange"] },
      ),
  },
  {
    words: /is forbidden: (.*(?:usage per (?:Container|Pod|PersistentVolumeClaim)|limit to request ratio per).*)$/s,
    async explain([, broken = ""], { namespace, what, evidence, ward }) {
      const ranges = (await ward.reader.listIfAllowed(LIMIT_RANGES, namespace)) ?? []
      const [only] = ranges
      const name = ranges.length === 1 ? `${namespace}/${only!.metadata.name}` : `of namespace ${namespace}`
      return finding("limit-range", `LimitRange ${name} does not allow ${what}: ${broken}`, {
        evidence,
        hints: ["change what is requested, or the LimitRange"],
      })
    },
  },
  {
    words: /violates PodSecurity "([^"]+)": (.*)$/s,
    async explain([, level = "", broken = ""], { namespace, what, evidence, ward }) {
      const space = await ward.reader.get(NAMESPACES, undefined, namespace).catch(() => undefined)
      const enforced = space?.metadata.labels?.["pod-security.kubernetes.io/enforce"]
      const label = enforced === undefined ? [] : [`label pod-security.kubernetes.io/enforce=${enforced}`]
      return finding(
        "pod-security",
        `namespace ${namespace} takes only pods of level ${level.split(":")[0]!} (Pod Security), ` +
          `and ${what} breaks it: ${broken}`,
        {
          evidence: [...evidence, ...label],
          hints: ["change the securityContext as it says, or the label of the namespace"],
        },
      )
    },
  },
  {
    words: /ValidatingAdmissionPolicy '([^']+)' with binding '([^']+)' denied request: (.*)$/s,
    async explain([, policy = "", binding = "", says = ""], { namespace, what, evidence, ward }) {
      // Source: apiserver plugin/policy/generic/policy_dispatcher.go, CollectParams.
      const missing = says.includes("no params found for policy binding")
        ? await missingParams({ policy, binding, namespace, what, evidence, ward })
        : undefined
      if (missing !== undefined) return missing
      const message = `ValidatingAdmissionPolicy ${policy} (binding ${binding}) refuses ${what}: ${says}`
      return finding("admission-policy", message, {
        evidence,
        hints: ["change what the policy asks for, or the policy"],
      })
    },
  },
  {
    // Source: apiserver plugin/policy/mutating/dispatcher.go.
    words: /(?:^|: )policy '([^']+)' with binding '([^']+)' denied request: (.*)$/s,
    explain: ([, policy = "", binding = "", says = ""], { what, evidence }) =>
      finding("admission-policy", `MutatingAdmissionPolicy ${policy} (binding ${binding}) refuses ${what}: ${says}`, {
        evidence,
        hints: ["correct the expression of the policy, or set failurePolicy: Ignore in it"],
      }),
  },
  {
    words: /admission webhook "([^"]+)" denied the request(?:: (.*)| without explanation)$/s,
    explain: ([, name = "", says = "without explanation"], { what, evidence }) =>
      finding("webhook-denied", `admission webhook ${name} refuses ${what}: ${says}`, { evidence }),
  },
  {
    words: /failed calling webhook "([^"]+)": (?:failed to call webhook: )?(.*)$/s,
    explain: ([, name = "", says = ""], { object, what, evidence, ward }) =>
      webhookFinding({ name, says, object, what, evidence, ward }),
  },
  {
    words: /error looking up service account ([^/]+)\/([^:]+): /,
    explain: ([, namespace = "", name = ""], { evidence, ward }) => accountFinding(namespace, name, ward, evidence),
  },
  {
    words: /no PriorityClass with name ([\w.-]+) was found/,
    explain: ([, name = ""], { evidence }) =>
      finding("priority-class-missing", `PriorityClass ${name} does not exist`, { evidence }),
  },
  {
    words: /RuntimeClass "?([\w.-]+)"? (?:not found|does not exist)|runtimeclass\S* "([\w.-]+)" not found/i,
    explain: ([, first, second = ""], { evidence }) =>
      finding("runtime-class-missing", `RuntimeClass ${first ?? second} does not exist`, { evidence }),
  },
  {
    words: /because it is being terminated/,
    explain: (_match, { namespace, evidence }) =>
      finding("namespace-terminating", `namespace ${namespace} is being deleted, so nothing is created in it`, {
        evidence,
      }),
  },
  {
    words: /is invalid: (.*)$/s,
    explain: ([, says = ""], { what, evidence }) => finding("invalid", `${what} is not valid: ${says}`, { evidence }),
  },
]

/** Returns who refused to let something be created, by the API server's words; undefined for other words. */
export async function refusalFinding(
  message: string,
  object: KubeObject,
  what: string,
  evidence: readonly string[],
  ward: Ward,
): Promise<Finding | undefined> {
  const refused = { object, namespace: object.metadata.namespace ?? "", what, evidence, ward }
  for (const { words, explain } of REFUSERS) {
    const match = words.exec(message)
    const found = match === null ? undefined : await explain(match, refused)
    if (found !== undefined) return found
  }
  return undefined
}

const usage = (
  used: Readonly<Record<string, string>> | undefined,
  hard: Readonly<Record<string, string>> | undefined,
): string =>
  Object.entries(hard ?? {})
    .map(([name, most]) => `${name} ${used?.[name] ?? "0"} of ${most}`)
    .join(", ")
