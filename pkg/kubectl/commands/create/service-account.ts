import { generator, metadataOf } from "./generator.ts"

/** Source: kubectl pkg/cmd/create/create_serviceaccount.go. */
export const createServiceAccountCommand = generator({
  use: "serviceaccount NAME [--dry-run=server|client|none]",
  aliases: ["sa"],
  short: "Create a service account with the specified name",
  long: "Create a service account with the specified name.",
  example: `
# Create a service account called my-service-account
kubectl create serviceaccount my-service-account`,
  flags: {},
  apiVersion: "v1",
  kind: "ServiceAccount",
  resource: "serviceaccounts",
  failure: "failed to create serviceaccount:",
  make: ({ name, namespace }) => ({ metadata: metadataOf({ name, namespace }) }),
})
