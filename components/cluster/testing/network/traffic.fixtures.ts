import type { ImageBehaviour } from "../testing.ts"

/** An image that answers with the name of its pod. */
export const named: ImageBehaviour = { http: (_request, { pod }) => new Response(pod.name) }

/** Returns a pod with the label `app` of its name. */
export const podOf = (
  name: string,
  image: string,
  { namespace = "default", ...spec }: { readonly namespace?: string; readonly [field: string]: unknown } = {},
) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace, labels: { app: name } },
  spec: { containers: [{ name: "main", image, ports: [{ name: "http", containerPort: 8080 }] }], ...spec },
})

/** Returns a Service for the pods of that label. */
export const serviceOf = (name: string, spec: object = {}, namespace = "default") => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace },
  spec: { selector: { app: name }, ports: [{ port: 80, targetPort: "http" }], ...spec },
})

export const namespaceOf = (name: string, labels: Record<string, string> = {}) => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, labels },
})

/** Returns the code of the error with which a request fails, or the text of its answer. */
export const outcome = (request: Promise<Response>): Promise<string> =>
  request.then(
    (response) => response.text(),
    (err: Error & { readonly code?: string }) => err.code ?? err.message,
  )
