import { f } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { LocalObjectReference, ObjectReference } from "./reference.ts"

/** Source: pkg/registry/core/serviceaccount/strategy.go. */

/** The annotation that restricts pods to the Secrets in the list of their account. */
const ENFORCE_SECRETS = "kubernetes.io/enforce-mountable-secrets"

const fields = {
  secrets: f
    .list(2, ObjectReference, "Secrets that pods of this account may use, when only listed ones are allowed.")
    .listMap("name")
    .merge("name"),
  imagePullSecrets: f
    .list(3, LocalObjectReference, "Secrets with which images of the account's pods are pulled.")
    .atomic(),
  automountServiceAccountToken: f
    .bool(4, "Whether pods get a token of the account mounted unless they say otherwise.")
    .pointer(),
}
export interface ServiceAccount extends ObjectFor<typeof fields> {}

export const ServiceAccount = defineResource(
  {
    group: "",
    version: "v1",
    kind: "ServiceAccount",
    plural: "serviceaccounts",
    shortNames: ["sa"],
    scope: "Namespaced",
    upstreamChecks: { wholeMetadata: 1 },
    warnings: ({ metadata: { annotations } }, old) =>
      annotations?.[ENFORCE_SECRETS] === undefined || old?.metadata.annotations?.[ENFORCE_SECRETS] !== undefined
        ? []
        : [
            `metadata.annotations[${ENFORCE_SECRETS}]: deprecated in v1.32+; prefer separate namespaces to ` +
              "isolate access to mounted secrets",
          ],
    doc: "An identity for the processes in pods.",
    returnsDeletedObject: true,
    subresources: {
      other: { token: { verbs: ["create"], kind: "TokenRequest", group: "authentication.k8s.io", version: "v1" } },
    },
    columns: [],
    prepareForCreate: (account) => withNamesOnly(account),
    prepareForUpdate: (account) => withNamesOnly(account),
  },
  fields,
)

/**
 * Keeps only the names of the account's references to Secrets. Source: cleanSecretReferences in
 * pkg/registry/core/serviceaccount/strategy.go.
 */
const withNamesOnly = (account: ServiceAccount): ServiceAccount =>
  account.secrets === undefined
    ? account
    : { ...account, secrets: account.secrets.map(({ name }) => (name === undefined ? {} : { name })) }
