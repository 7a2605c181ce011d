import { MutatingWebhookConfiguration } from "../../../../pkg/api/admissionregistration/v1/mutatingwebhookconfiguration.ts"
import { ValidatingWebhookConfiguration } from "../../../../pkg/api/admissionregistration/v1/validatingwebhookconfiguration.ts"
import type { Webhook } from "../../../../pkg/api/admissionregistration/v1/webhook.ts"
import type { Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { Storage } from "../../../../pkg/storage/storage.ts"
import type { Objects } from "../../cacher/objects.ts"
import { storagePrefix } from "../../cacher/view.ts"

export type WebhookType = "admit" | "validating"

/** A webhook with the configuration object that declares it. */
export interface ConfiguredWebhook {
  readonly webhook: Webhook
  readonly configuration: string
}

interface Configuration {
  readonly metadata: { readonly name?: string | undefined }
  readonly webhooks?: readonly Webhook[] | undefined
}

/**
 * The webhooks of a type in the order of calls: by the name of their configuration, then by their position in it.
 * Collected again only after a configuration changed. Source: apiserver pkg/admission/configuration.
 */
export class WebhookSource {
  readonly #objects: Objects
  readonly #type: WebhookType
  #webhooks: readonly ConfiguredWebhook[] | undefined

  constructor(type: WebhookType, { storage, objects }: { readonly storage: Storage; readonly objects: Objects }) {
    this.#objects = objects
    this.#type = type
    const resource: Resource = type === "admit" ? MutatingWebhookConfiguration : ValidatingWebhookConfiguration
    const prefix = storagePrefix(resource, undefined)
    storage.subscribe(() => (this.#webhooks = undefined), [prefix])
  }

  all(): readonly ConfiguredWebhook[] {
    return (this.#webhooks ??= this.#collected())
  }

  #collected(): readonly ConfiguredWebhook[] {
    const found: ConfiguredWebhook[] = []
    const configurations: readonly Configuration[] =
      this.#type === "admit"
        ? this.#objects.list(MutatingWebhookConfiguration)
        : this.#objects.list(ValidatingWebhookConfiguration)
    for (const { metadata, webhooks = [] } of configurations)
      for (const webhook of webhooks) found.push({ webhook, configuration: metadata.name ?? "" })
    return found
  }
}
