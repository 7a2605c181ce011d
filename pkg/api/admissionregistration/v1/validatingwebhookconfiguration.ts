import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { matchConditions, objectSelector, webhookConfiguration, webhookFields } from "./webhook.ts"

/**
 * Source: k8s.io/api admissionregistration/v1/types.go,
 * pkg/registry/admissionregistration/validatingwebhookconfiguration.
 */

export const ValidatingWebhook = message(
  "admissionregistration.v1.ValidatingWebhook",
  "A webhook, and which requests it is asked about.",
  {
    ...webhookFields,
    objectSelector: objectSelector(10),
    matchConditions: matchConditions(11),
  },
)
export interface ValidatingWebhook extends ObjectOf<typeof ValidatingWebhook> {}

const fields = {
  webhooks: f.list(2, ValidatingWebhook, "The webhooks.").listMap("name").merge("name"),
}
export interface ValidatingWebhookConfiguration extends ObjectFor<typeof fields> {}

export const ValidatingWebhookConfiguration = defineResource(
  webhookConfiguration(
    "ValidatingWebhookConfiguration",
    "Webhooks that are asked whether a request may be carried out.",
  ),
  fields,
)
