import { invalidValue } from "../../../apimachinery/validation/field-errors.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"

/**
 * Source: k8s.io/api authentication/v1/types.go, pkg/apis/authentication/v1/defaults.go,
 * pkg/apis/authentication/validation.
 */

const HOUR = 3600
/** The shortest lifetime of a token: 10 minutes. */
const LEAST_SECONDS = 600

export const BoundObjectReference = message(
  "authentication.v1.BoundObjectReference",
  "The object with which a token ends.",
  {
    kind: f.string(1, "Pod, Secret or Node."),
    apiVersion: f.string(2, "Version of the kind."),
    name: f.string(3, "Name of the object."),
    uid: f.string(4, "UID of the object."),
  },
)
export interface BoundObjectReference extends ObjectOf<typeof BoundObjectReference> {}

export const TokenRequestSpec = message("authentication.v1.TokenRequestSpec", "The token that is asked for.", {
  audiences: f
    .list(1, e.string, "For whom the token is; the server itself when empty.")
    .atomic()
    .default([])
    .printZero(),
  expirationSeconds: f.int64(4, "Seconds for which the token is to be valid.").default(HOUR).pointer(),
  boundObjectRef: f.message(3, BoundObjectReference, "The object with which the token ends.").orNull(),
})
export interface TokenRequestSpec extends ObjectOf<typeof TokenRequestSpec> {}

export const TokenRequestStatus = message("authentication.v1.TokenRequestStatus", "The token.", {
  token: f.string(1, "The token.").default("").printZero(),
  expirationTimestamp: f.time(2, "When the token ends."),
})
export interface TokenRequestStatus extends ObjectOf<typeof TokenRequestStatus> {}

const fields = {
  spec: f.message(2, TokenRequestSpec, "The token that is asked for.").always().printZero(),
  status: f.message(3, TokenRequestStatus, "The token.").always(),
}
export interface TokenRequest extends ObjectFor<typeof fields> {}

/** The body of `serviceaccounts/token`; it has no path of its own. */
export const TokenRequest = defineResource(
  {
    group: "authentication.k8s.io",
    version: "v1",
    kind: "TokenRequest",
    plural: "tokenrequests",
    scope: "Namespaced",
    verbs: ["create"],
    doc: "Asks for a token of a service account. Not stored.",
    validate: ({ spec: { expirationSeconds } }) => {
      if (expirationSeconds < LEAST_SECONDS)
        return [
          invalidValue("spec.expirationSeconds", expirationSeconds, "may not specify a duration less than 10 minutes"),
        ]
      return expirationSeconds > 2 ** 32
        ? [
            invalidValue(
              "spec.expirationSeconds",
              expirationSeconds,
              "may not specify a duration larger than 2^32 seconds",
            ),
          ]
        : []
    },
  },
  fields,
)
