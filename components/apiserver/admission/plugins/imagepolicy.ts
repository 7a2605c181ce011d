import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { f, message, type ObjectOf } from "../../../../pkg/apimachinery/fields.ts"
import { forbidden, type Cause } from "../../../../pkg/apimachinery/errors.ts"
import { isJsonObject } from "../../../../pkg/apimachinery/json/json-value.ts"
import { invalidValue, required } from "../../../../pkg/apimachinery/validation/field-errors.ts"
import type { ConfigurationKind } from "../../../../pkg/config-file/config-file.ts"
import { RecentByText } from "../../../../pkg/cache/recent-by-text.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import { isTransient, KubeconfigWebhook, readWebhookKubeconfig } from "../../webhooks/kubeconfig-webhook.ts"
import { on, type AdmissionPlugin, type AttributesOf } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"

const ImagePolicy = message("imagepolicy.ImagePolicy", "Who decides about images.", {
  kubeConfigFile: f.string(1, "File in the form of a kubeconfig that names the webhook."),
  allowTTL: f.int64(2, "Seconds for which an approval is remembered; -1 for none."),
  denyTTL: f.int64(3, "Seconds for which a refusal is remembered; -1 for none."),
  retryBackoff: f.int64(4, "Milliseconds before a failed call is made again; -1 for none."),
  defaultAllow: f.bool(5, "Whether images pass where the webhook cannot be asked."),
})
const Configuration = message("imagepolicy.Configuration", "Who decides about images.", {
  imagePolicy: f.message(1, ImagePolicy, "The webhook."),
})
export interface ImagePolicyConfiguration extends ObjectOf<typeof Configuration> {}

/** The most of each time, and what counts where none is given. Source: plugin/pkg/admission/imagepolicy/config.go. */
const TIMES = {
  allowTTL: { most: 1800, usual: 300, range: "1s and 30m0s" },
  denyTTL: { most: 1800, usual: 30, range: "1s and 30m0s" },
  retryBackoff: { most: 300_000, usual: 500, range: "1ns and 5m0s" },
} as const
const TIME_NAMES = Object.keys(TIMES) as (keyof typeof TIMES)[]

/** The configuration of the plugin, which has no kind of its own. */
export const IMAGE_POLICY: ConfigurationKind<typeof Configuration> = {
  apiVersions: ["ImagePolicyWebhook"],
  kind: "",
  isUntyped: true,
  schema: Configuration,
  validate: ({ imagePolicy = {} }) => [
    ...((imagePolicy.kubeConfigFile ?? "") === ""
      ? [required("imagePolicy.kubeConfigFile", "name the file that says where the webhook is")]
      : []),
    ...TIME_NAMES.flatMap((name): Cause[] => {
      const given = imagePolicy[name] ?? 0
      const { most, range } = TIMES[name]
      return given < -1 || given > most
        ? [invalidValue(`imagePolicy.${name}`, given, `valid value is between ${range}`)]
        : []
    }),
  ],
}

/** The beginning of the audit annotations of this plugin. */
const PREFIX = "imagepolicywebhook.image-policy.k8s.io/"
/** Answers that are remembered; upstream bounds only their number, and users choose how long a question is. */
const KEPT = { entries: 1024, characters: 4 * 1024 * 1024 }
/** Source: apiserver pkg/util/webhook/webhook.go DefaultRetryBackoffWithInitialDelay. */
const ATTEMPTS = 5

interface ReviewStatus {
  readonly allowed: boolean
  readonly reason: string
  readonly annotations: Readonly<Record<string, string>>
}

/**
 * Asks a webhook whether a pod may run its images. Source: plugin/pkg/admission/imagepolicy. Differs from upstream: a
 * pod that passes since the webhook cannot be asked has an audit annotation, and none of its own.
 */
export function imagePolicyWebhook(
  { clock, random, signal }: AdmissionContext,
  { imagePolicy = {} }: ImagePolicyConfiguration,
): AdmissionPlugin {
  const time = (name: keyof typeof TIMES): number => {
    const given = imagePolicy[name] ?? 0
    return given === 0 ? TIMES[name].usual : Math.max(0, given)
  }
  const webhook = new KubeconfigWebhook(
    readWebhookKubeconfig(imagePolicy.kubeConfigFile ?? "", "imagePolicy.kubeConfigFile"),
    { clock, random },
  )
  signal.addEventListener("abort", () => webhook.close(), { once: true })
  const backoff = { initialMs: time("retryBackoff"), attempts: ATTEMPTS, isWorthIt: isTransient }
  const ttlMs = { true: time("allowTTL") * 1000, false: time("denyTTL") * 1000 }
  const known = new RecentByText<{ readonly status: ReviewStatus; readonly until: number }>({
    ...KEPT,
    weightOf: ({ status }) => JSON.stringify(status).length,
  })

  function decide({ resource, name, annotate }: AttributesOf<Pod>, status: ReviewStatus): void {
    for (const [key, value] of Object.entries(status.annotations)) annotate?.(PREFIX + key, value)
    if (status.allowed) return
    const why =
      status.reason === ""
        ? "one or more images rejected by webhook backend"
        : `image policy webhook backend denied one or more images: ${status.reason}`
    throw forbidden(resource, name, why)
  }

  async function ask(attributes: AttributesOf<Pod>, spec: object, key: string): Promise<void> {
    const began = clock.monotonic()
    let status: ReviewStatus
    try {
      const review = { kind: "ImageReview", apiVersion: "imagepolicy.k8s.io/v1alpha1", metadata: {}, spec, status: {} }
      status = statusIn(await webhook.post(JSON.stringify(review), backoff, signal))
    } catch (err) {
      if (imagePolicy.defaultAllow !== true) throw forbidden(attributes.resource, attributes.name, errorMessage(err))
      attributes.annotate?.(`${PREFIX}failed-open`, "true")
      return
    } finally {
      attributes.waited?.(clock.monotonic() - began)
    }
    known.set(key, { status, until: clock.monotonic() + ttlMs[`${status.allowed}`] })
    decide(attributes, status)
  }

  return on(Pod, {
    name: "ImagePolicyWebhook",
    operations: ["CREATE", "UPDATE"],
    subresources: [undefined, "ephemeralcontainers"],
    validate(attributes) {
      const { object: pod, subresource, namespace = "" } = attributes
      const containers =
        subresource === undefined
          ? [...pod.spec.containers, ...(pod.spec.initContainers ?? [])]
          : (pod.spec.ephemeralContainers ?? [])
      const annotations = Object.entries(pod.metadata.annotations ?? {}).filter(([name]) =>
        name.includes(".image-policy.k8s.io/"),
      )
      const spec = {
        ...(containers.length === 0 ? {} : { containers: containers.map(({ image }) => ({ image })) }),
        ...(annotations.length === 0 ? {} : { annotations: Object.fromEntries(annotations) }),
        namespace,
      }
      const key = JSON.stringify(spec)
      const found = known.get(key)
      if (found !== undefined && found.until > clock.monotonic()) return decide(attributes, found.status)
      return ask(attributes, spec, key)
    },
  })
}

/** @throws Error for an answer that is no ImageReview */
function statusIn(text: string): ReviewStatus {
  const review: unknown = JSON.parse(text)
  if (!isJsonObject(review) || review["kind"] !== "ImageReview") throw new Error("the answer is no ImageReview")
  const { status = {} } = review as { readonly status?: Readonly<Record<string, unknown>> }
  const { allowed, reason, auditAnnotations } = status
  return {
    allowed: allowed === true,
    reason: typeof reason === "string" ? reason : "",
    annotations: isJsonObject(auditAnnotations)
      ? Object.fromEntries(Object.entries(auditAnnotations).map(([key, value]) => [key, String(value)]))
      : {},
  }
}
