import type { KubeObject } from "../../apimachinery/resource.ts"
import { fromLabels, type Labels } from "../../apimachinery/selectors/labels.ts"
import { isPodReady } from "../../pods/pod-state.ts"
import { finding, nameOf, type Finding, type ObjectRef } from "../answer.ts"
import { behind, isSame, through, type Ward } from "../doctor.ts"
import { podsOf } from "../network/service-pods.ts"
import { webhookPortFinding } from "./webhook-port.ts"
import { MUTATING_WEBHOOKS, refOf, refTo, SERVICES, VALIDATING_WEBHOOKS } from "../reading/kinds.ts"

/** A call of an admission webhook that failed. */
interface FailedCall {
  readonly name: string
  /** The words of the API server's client. */
  readonly says: string
  /** Whose creation, change or deletion the webhook had to be asked about. */
  readonly object: KubeObject
  readonly what: string
  readonly evidence: readonly string[]
  readonly ward: Ward
}

/** Returns why the API server gets no answer of an admission webhook. */
export async function webhookFinding({ name, says, object, what, evidence, ward }: FailedCall): Promise<Finding> {
  // The URL that was asked has a timeout in it.
  const why = says.replaceAll(/"https?:[^"]*"/g, "")
  const asked = `admission webhook ${name} must be asked about ${what} and`
  const where = await placeOf(name, ward)
  const of = where === undefined ? "its configuration" : nameOf(where.configuration)
  const ignore = "failurePolicy: Ignore lets requests pass meanwhile"
  if (/x509|certificate|tls: /i.test(why))
    return finding("webhook-certificate", `${asked} its certificate is not accepted: ${certificateWords(why, of)}`, {
      evidence: [...evidence, `the words of the API server: ${says}`],
      hints: [`correct caBundle of ${of}, or the certificate of the webhook's server; ${ignore}`],
    })
  if (where !== undefined && (await isOwnServer(where.service, object, ward)))
    return finding(
      "webhook-deadlock",
      `${asked} its own server is not there: ${nameOf(where.service)} leads to these pods, which cannot be created without it`,
      {
        evidence,
        hints: [
          `leave the webhook's own namespace out of ${of} (namespaceSelector), or use failurePolicy: Ignore until its pods run`,
        ],
      },
    )
  const asks =
    where === undefined ? undefined : await ward.reader.get(SERVICES, where.service.namespace, where.service.name)
  const closed =
    where === undefined || asks === undefined
      ? undefined
      : webhookPortFinding(where.configuration, where.index, { name, port: where.port }, asks)
  if (closed !== undefined) return { ...closed, cause: { ...closed.cause, evidence } }
  const cause = where === undefined ? undefined : await serverFinding(where.service, where.configuration, ward)
  if (cause !== undefined)
    return { ...cause, cause: { ...cause.cause, evidence: [...cause.cause.evidence, ...evidence] } }
  const isLate = /deadline exceeded|timed? ?out/i.test(why)
  const status = /unexpected (?:status|response)|the server .* (?:error|rejected)/i.test(why)
  return finding(
    isLate ? "webhook-timeout" : "webhook-down",
    `${asked} ${isLate ? "does not answer in time" : status ? "its server fails" : "cannot be reached"}: ${says}`,
    { evidence, hints: [`repair the webhook's server; ${ignore}`] },
  )
}

interface Place {
  readonly configuration: ObjectRef
  /** Which of its webhooks it is. */
  readonly index: number
  readonly port: number | undefined
  readonly service: ObjectRef
}

/** Returns which Service a webhook asks, and whose configuration says so. */
async function placeOf(name: string, { reader }: Ward): Promise<Place | undefined> {
  for (const kind of [VALIDATING_WEBHOOKS, MUTATING_WEBHOOKS])
    for (const configuration of (await reader.listIfAllowed(kind)) ?? []) {
      const index = configuration.webhooks?.findIndex((one) => one.name === name) ?? -1
      const service = configuration.webhooks?.[index]?.clientConfig?.service
      if (service !== undefined)
        return {
          configuration: refOf(configuration),
          index,
          port: service.port,
          service: refTo(SERVICES, service.namespace, service.name),
        }
    }
  return undefined
}

/** Whether the pods that a webhook refuses are those behind its own Service, which has none that is ready. */
async function isOwnServer(ref: ObjectRef, object: KubeObject, ward: Ward): Promise<boolean> {
  if (object.metadata.namespace !== ref.namespace) return false
  const service = await ward.reader.get(SERVICES, ref.namespace, ref.name)
  const { selector = {} } = service?.spec ?? {}
  const { spec = {} } = object as { readonly spec?: { readonly template?: Templated } }
  if (service === undefined || spec.template === undefined || Object.keys(selector).length === 0) return false
  if (!fromLabels(selector).matches(spec.template.metadata?.labels ?? {})) return false
  return !(await podsOf(service, ward)).pods.some(isPodReady)
}

interface Templated {
  readonly metadata?: { readonly labels?: Labels }
}

/** Returns why the server of a webhook does not answer, where its Service exists. */
async function serverFinding(service: ObjectRef, configuration: ObjectRef, ward: Ward): Promise<Finding | undefined> {
  const opinion = await ward.ask(service)
  const [first] = through(service, opinion)
  // That there is no such Service is what the API server has said.
  const own = first?.chain.at(-1)?.object
  if (first === undefined || (first.cause.code === "service-missing" && own !== undefined && isSame(own, service)))
    return undefined
  return behind({ object: configuration, says: "asks a server that does not answer" }, first)
}

function certificateWords(why: string, configuration: string): string {
  if (/signed by unknown authority|self[- ]signed|unable to (?:get|verify)/i.test(why))
    return `none of the authorities in caBundle of ${configuration} has signed it`
  if (/expired|not yet valid/i.test(why)) return "it is not valid at this time"
  const names = /certificate is (?:valid for|not valid for any names)[^\n]*|does not match[^\n]*|doesn't contain[^\n]*/i
  return names.exec(why)?.[0] ?? why.trim()
}
