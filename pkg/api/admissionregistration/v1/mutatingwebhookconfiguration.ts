import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { matchConditions, objectSelector, webhookConfiguration, webhookFields } from "./webhook.ts"

/**
 * Source: k8s.io/api admissionregistration/v1/types.go,
 * pkg/registry/admissionregistration/mutatingwebhookconfiguration.
 */

export const MutatingWebhook = message(
  "admissionregistration.v1.MutatingWebhook",
  "A webhook, and which requests it is asked about.",
  {
    ...webhookFields,
    reinvocationPolicy: f
      .string(10, "Whether it is asked once more when others changed the object after it: Never or IfNeeded.")
      .default("Never")
      .pointer(),
    objectSelector: objectSelector(11),
    matchConditions: matchConditions(12),
  },
)
export interface MutatingWebhook extends ObjectOf<typeof MutatingWebhook> {}

const fields = {
  webhooks: f.list(2, MutatingWebhook, "The webhooks.").listMap("name").merge("name"),
}
export interface MutatingWebhookConfiguration extends ObjectFor<typeof fields> {}

export const MutatingWebhookConfiguration = defineResource(
  webhookConfiguration("MutatingWebhookConfiguration", "Webhooks that may change an object before it is stored."),
  fields,
)
