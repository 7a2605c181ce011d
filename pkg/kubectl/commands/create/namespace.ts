import { generator, metadataOf } from "./generator.ts"

/** Source: kubectl pkg/cmd/create/create_namespace.go. */
export const createNamespaceCommand = generator({
  use: "namespace NAME [--dry-run=server|client|none]",
  aliases: ["ns"],
  short: "Create a namespace with the specified name",
  long: "Create a namespace with the specified name.",
  example: `
# Create a namespace called my-namespace
kubectl create namespace my-namespace`,
  flags: {},
  apiVersion: "v1",
  kind: "Namespace",
  resource: "namespaces",
  clusterScoped: true,
  make: ({ name }) => ({ metadata: metadataOf({ name }), spec: {}, status: {} }),
})
