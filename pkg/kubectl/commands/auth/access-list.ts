import type { PolicyRule } from "../../../api/rbac/v1/rules.ts"
import type { Invocation } from "../../command/command.ts"
import { brokenDown, compacted, listText, resourceWithGroup } from "../../describe/policy-rules.ts"
import { newTabWriter } from "../../printers/tab-writer.ts"
import { goJson, type Unstructured } from "../../rest/json.ts"

interface RulesReview extends Unstructured {
  readonly status?: {
    readonly resourceRules?: readonly PolicyRule[] | null
    readonly nonResourceRules?: readonly PolicyRule[] | null
    readonly incomplete?: boolean
    readonly evaluationError?: string
  }
}

/** Prints all that the user may do in a namespace. Source: kubectl pkg/cmd/auth/cani.go (RunAccessList). */
export async function printAccessList(
  { factory, out }: Pick<Invocation, "factory" | "out">,
  namespace: string,
  headers: boolean,
): Promise<void> {
  const review = {
    kind: "SelfSubjectRulesReview",
    apiVersion: "authorization.k8s.io/v1",
    metadata: {},
    spec: { namespace },
    status: { resourceRules: null, nonResourceRules: null, incomplete: false },
  }
  const client = await factory.client()
  const { status = {} } = (await client.object({
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
    body: `${goJson(review, { sorted: false })}\n`,
  })) as RulesReview
  if (status.incomplete === true) factory.warnings.print(`the list may be incomplete: ${status.evaluationError ?? ""}`)
  const rules = compacted([...(status.resourceRules ?? []), ...(status.nonResourceRules ?? [])].flatMap(brokenDown))
  const table = newTabWriter(out)
  if (headers) await table.write("Resources\tNon-Resource URLs\tResource Names\tVerbs\n")
  for (const rule of rules)
    await table.write(
      `${resourceWithGroup(rule)}\t${listText(rule.nonResourceURLs)}\t${listText(rule.resourceNames)}\t${listText(rule.verbs)}\n`,
    )
  await table.flush()
}
