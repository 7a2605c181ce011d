import type { MutatingWebhookConfiguration } from "../../api/admissionregistration/v1/mutatingwebhookconfiguration.ts"
import type { ValidatingWebhookConfiguration } from "../../api/admissionregistration/v1/validatingwebhookconfiguration.ts"
import { finding, type Finding, type Opinion } from "../answer.ts"
import { behind, doctor, healthy, unwell, type Ward } from "../doctor.ts"
import { MUTATING_WEBHOOKS, refOf, refTo, SERVICES, VALIDATING_WEBHOOKS } from "../reading/kinds.ts"
import { command } from "../command.ts"
import { webhookPortFinding } from "./webhook-port.ts"

type Configuration = ValidatingWebhookConfiguration | MutatingWebhookConfiguration

/** Returns whether the servers of webhooks are there: nobody says so of them before a request needs one. */
async function examine(object: Configuration, ward: Ward): Promise<Opinion> {
  const { metadata, kind, webhooks = [] } = object
  const findings: Finding[] = []
  for (const [index, { name, clientConfig, failurePolicy }] of webhooks.entries()) {
    const { service } = clientConfig ?? {}
    if (service === undefined) continue
    const ref = refTo(SERVICES, service.namespace, service.name)
    const weight = failurePolicy === "Ignore" ? "note" : "broken"
    const removal = command`kubectl delete ${kind.toLowerCase()} ${metadata.name ?? ""}`
    const found = await ward.reader.get(SERVICES, service.namespace, service.name)
    if (found === undefined) {
      findings.push(
        finding(
          "webhook-down",
          `admission webhook ${name} asks Service ${service.namespace}/${service.name}, which does not exist: ` +
            (weight === "note" ? "requests pass without it" : "all that it must be asked about is refused"),
          {
            weight,
            hints: ["install its server again", `if it is left from something that is gone: ${removal}`],
          },
        ),
      )
      continue
    }
    const closed = webhookPortFinding(refOf(object), index, { name, port: service.port }, found)
    if (closed !== undefined) findings.push({ ...closed, weight })
    const { summary, findings: own } = await ward.ask(ref)
    for (const one of own)
      if (one.weight !== "note")
        findings.push(behind({ object: ref, says: summary }, weight === "note" ? { ...one, weight } : one))
  }
  const summary = `has ${webhooks.length} webhook${webhooks.length === 1 ? "" : "s"}`
  return findings.some(({ weight }) => weight !== "note") ? unwell(summary, findings) : healthy(summary, findings)
}

export const validatingWebhookDoctor = doctor(VALIDATING_WEBHOOKS, examine)
export const mutatingWebhookDoctor = doctor(MUTATING_WEBHOOKS, examine)
