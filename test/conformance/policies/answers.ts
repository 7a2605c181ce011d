import { DEFINITION, NAMESPACE, type PolicyCase, type Sent } from "./builders.ts"

/** A server's answer, without the values that differ from run to run. */
export interface PolicyAnswer {
  readonly code: number
  readonly reason?: string
  readonly message?: string
  readonly causes?: readonly unknown[]
  readonly warnings?: readonly string[]
  /** The object; of its metadata only the fields that a policy may set. */
  readonly object?: unknown
}

/** Sends a request; `warnings` are the values of the Warning headers. */
export type SendRequest = (
  sent: Sent,
) => Promise<{ readonly code: number; readonly body: unknown; readonly warnings: readonly string[] }>

interface Body {
  readonly kind?: string
  readonly reason?: string
  readonly message?: string
  readonly details?: { readonly causes?: readonly unknown[] }
  readonly metadata?: Readonly<Record<string, unknown>>
}

/**
 * Creates what all cases need (a namespace, a definition) and the policies of all cases. When `settled` resolves, sends
 * the requests of one case after the other. Returns the answer to the last request of each case by the case's title, or
 * the answer to its policy if the server refused the policy.
 */
export async function answersTo(
  send: SendRequest,
  cases: readonly PolicyCase[],
  settled: () => Promise<void>,
): Promise<ReadonlyMap<string, PolicyAnswer>> {
  const answers = new Map<string, PolicyAnswer>()
  const ask = async (sent: Sent): Promise<PolicyAnswer> => {
    const { code, body, warnings } = await send(sent)
    return comparable(code, body as Body, warnings)
  }
  for (const sent of COMMON) {
    const answer = await ask(sent)
    if (answer.code !== 201) throw new Error(`${sent.method} ${sent.path}: ${JSON.stringify(answer)}`)
  }
  for (const { title, setup } of cases)
    for (const sent of setup) {
      const answer = await ask(sent)
      if (answer.code !== 201) answers.set(title, answer)
    }
  await settled()
  for (const { title, requests } of cases)
    if (!answers.has(title)) for (const sent of requests) answers.set(title, await ask(sent))
  return answers
}

const made = (kind: string, name: string) => ({ apiVersion: "v1", kind, metadata: { name } })
const COMMON: readonly Sent[] = [
  { method: "POST", path: "/api/v1/namespaces", body: made("Namespace", NAMESPACE) },
  {
    method: "POST",
    path: `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`,
    body: made("ServiceAccount", "default"),
  },
  DEFINITION,
]

const CHANGING = ["uid", "resourceVersion", "creationTimestamp", "managedFields", "deletionTimestamp"]

function comparable(code: number, body: Body, warnings: readonly string[]): PolicyAnswer {
  const told = warnings.length === 0 ? {} : { warnings }
  if (body.kind === "Status")
    return {
      code,
      ...(code >= 300 ? { reason: body.reason ?? "", message: body.message ?? "" } : {}),
      ...(body.details?.causes === undefined ? {} : { causes: body.details.causes }),
      ...told,
    }
  const metadata = Object.fromEntries(
    Object.entries(body.metadata ?? {}).filter(([field]) => !CHANGING.includes(field)),
  )
  return { code, ...told, object: { ...body, metadata } }
}
