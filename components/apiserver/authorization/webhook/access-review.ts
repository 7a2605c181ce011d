import { parseFieldSelector } from "../../../../pkg/apimachinery/selectors/fieldselector.ts"
import { parseLabelSelector, type LabelOperator } from "../../../../pkg/apimachinery/selectors/labels.ts"
import type { NonResourceRequest, ResourceAttributes } from "../../call/request.ts"

interface Requirement {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}
interface Selector {
  readonly requirements: readonly Requirement[]
}

/** The spec of a SubjectAccessReview, with all fields that expressions see. */
export interface AccessReviewSpec {
  readonly resourceAttributes?: Readonly<Record<string, string>> & {
    readonly fieldSelector?: Selector
    readonly labelSelector?: Selector
  }
  readonly nonResourceAttributes?: { readonly path: string; readonly verb: string }
  readonly user: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
  readonly uid?: string
}

/** Returns what a webhook is asked about a request. Source: apiserver plugin/pkg/authorizer/webhook/webhook.go. */
export function accessReviewSpec(request: ResourceAttributes | NonResourceRequest): AccessReviewSpec {
  const { name: user, groups, uid, extra } = request.user
  const subject = {
    user,
    groups,
    ...(uid === undefined ? {} : { uid }),
    ...(extra === undefined ? {} : { extra }),
  }
  if ("path" in request) return { nonResourceAttributes: { path: request.path, verb: request.verb }, ...subject }
  const { namespace, verb, group, version, resource, subresource, name } = request
  const texts = { namespace, verb, group, version, resource, subresource, name }
  const attributes = Object.fromEntries(
    Object.entries(texts).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ""),
  )
  const [fieldSelector, labelSelector] = [fieldsOf(request.fieldSelector), labelsOf(request.labelSelector)]
  return {
    resourceAttributes: {
      ...attributes,
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
    } as AccessReviewSpec["resourceAttributes"] & object,
    ...subject,
  }
}

/** A selector that cannot be read narrows nothing here; the registry refuses it with a reason. */
function fieldsOf(text = ""): Selector | undefined {
  try {
    const requirements = parseFieldSelector(text).map(({ path, operator, value }) => ({
      key: path,
      operator: operator === "!=" ? "NotIn" : "In",
      values: [value],
    }))
    return requirements.length === 0 ? undefined : { requirements }
  } catch {
    return undefined
  }
}

const OPERATORS: Readonly<Partial<Record<LabelOperator, string>>> = {
  "=": "In",
  "==": "In",
  in: "In",
  "!=": "NotIn",
  notin: "NotIn",
  exists: "Exists",
  "!": "DoesNotExist",
}

function labelsOf(text = ""): Selector | undefined {
  try {
    const requirements = parseLabelSelector(text).requirements.flatMap(({ key, operator, values }): Requirement[] => {
      const name = OPERATORS[operator]
      if (name === undefined) return []
      return [{ key, operator: name, ...(values.length === 0 ? {} : { values: [...values] }) }]
    })
    return requirements.length === 0 ? undefined : { requirements }
  } catch {
    return undefined
  }
}
