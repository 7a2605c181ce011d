import { isAlreadyExists, isReason } from "../../../pkg/apimachinery/errors.ts"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Namespace } from "../../../pkg/api/core/v1/namespace.ts"
import { defineController, type Controller } from "../../../pkg/controller/controller.ts"

const NAME = "kube-root-ca.crt"
const DESCRIPTION = {
  "kubernetes.io/description":
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as " +
    "the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of " +
    "Kubernetes clusters.",
}

/**
 * Creates in every namespace the ConfigMap with the cluster's CA certificate, which pods mount to trust the API server.
 * Source: pkg/controller/certificates/rootcacertpublisher.
 */
export const rootCaCertPublisher = (caPem: () => string): Controller<Namespace> =>
  defineController<Namespace>({
    name: "root-ca-certificate-publisher-controller",
    reconciles: Namespace,
    watches: [
      { resource: ConfigMap, keys: ({ metadata }) => (metadata.name === NAME ? [metadata.namespace ?? ""] : []) },
    ],
    async reconcile(key, { informers, client }) {
      const namespace = informers.of(Namespace).get(key)
      if (namespace === undefined || namespace.status.phase === "Terminating") return
      const existing = informers.of(ConfigMap).get(`${key}/${NAME}`)
      const data = { "ca.crt": caPem() }
      try {
        if (existing === undefined)
          await client.create(ConfigMap, { metadata: { name: NAME, namespace: key, annotations: DESCRIPTION }, data })
        else if (existing.data?.["ca.crt"] !== data["ca.crt"] || Object.keys(existing.data).length !== 1)
          await client.update(ConfigMap, { ...existing, data })
      } catch (err) {
        // The namespace is being deleted or is gone.
        if (!isAlreadyExists(err) && !isReason(err, "NotFound", "Forbidden")) throw err
      }
    },
  })
