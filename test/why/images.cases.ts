import { deployment, pod, type Situation } from "./situation.fixtures.ts"

const one = (image: string, more = ""): string => `{${more}containers: [{name: c, image: "${image}"}]}`
const fails = (image: string, pullError: string): Pick<Situation, "options"> => ({
  options: { nodes: 2, images: { [image]: { pullError: `rpc error: code = Unknown desc = ${pullError}` } } },
})
const RESOLVE = (image: string): string =>
  `failed to pull and unpack image "docker.io/library/${image}": failed to resolve reference "docker.io/library/${image}":`

export const IMAGES: readonly Situation[] = [
  {
    title: "an image whose name is nearly that of another one",
    yaml: deployment("good", one("nginx:1.27")) + deployment("web", one("ngnix:1.27")),
    ask: "deployment/web",
    cause: "image-not-found",
    says: /image ngnix:1\.27 does not exist in docker\.io; perhaps nginx:1\.27 is meant/,
    mends: 1,
    ...fails("ngnix:1.27", `${RESOLVE("ngnix:1.27")} docker.io/library/ngnix:1.27: not found`),
  },
  {
    title: "an image beside another one with a short name of its own",
    yaml: deployment("good", one("k3ts.local/pause:1")) + deployment("web", one("k3ts.local/busybx:1")),
    ask: "deployment/web",
    cause: "image-not-found",
    says: /image k3ts\.local\/busybx:1 does not exist in k3ts\.local$/,
    ...fails("k3ts.local/busybx:1", "failed to resolve reference k3ts.local/busybx:1: not found"),
  },
  {
    title: "a tag that does not exist, where the former one ran",
    yaml: deployment("web", one("web:1")),
    ask: "deploy/web",
    cause: "image-not-found",
    says: /image web:2-rc does not exist/,
    mends: 1,
    breaks: (cluster) => cluster.kubectl("set image deployment/web c=web:2-rc"),
    ...fails("web:2-rc", `${RESOLVE("web:2-rc")} docker.io/library/web:2-rc: not found`),
  },
  {
    title: "an image that needs credentials which the pod does not name",
    yaml: deployment("web", one("registry.corp/team/web:1")),
    ask: "deployment/web",
    cause: "image-credentials",
    says: /registry registry\.corp does not give .* names no imagePullSecrets/,
    ...fails(
      "registry.corp/team/web:1",
      `failed to authorize: failed to fetch anonymous token: unexpected status: 401 Unauthorized`,
    ),
  },
  {
    title: "a pull secret that does not exist",
    yaml: deployment("web", one("registry.corp/team/web:1", "imagePullSecrets: [{name: regcred}], ")),
    ask: "deployment/web",
    cause: "image-credentials",
    says: /Secret regcred of imagePullSecrets does not exist/,
    ...fails("registry.corp/team/web:1", `unexpected status from HEAD request: 403 Forbidden`),
  },
  {
    title: "a pull secret with the credentials of another registry",
    yaml: `
apiVersion: v1
kind: Secret
metadata: {name: regcred}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: '{"auths":{"other.corp":{"auth":"YTpi"}}}'}
${deployment("web", one("registry.corp/team/web:1", "imagePullSecrets: [{name: regcred}], "))}`,
    ask: "deployment/web",
    cause: "image-credentials",
    says: /Secret regcred has no credentials for registry\.corp, but for other\.corp/,
    ...fails("registry.corp/team/web:1", `401 Unauthorized`),
  },
  {
    title: "an image of Docker Hub that is private or does not exist",
    yaml: deployment("web", one("acme/secret-thing:1")),
    ask: "deployment/web",
    cause: "image-not-found-or-private",
    says: /does not exist in docker\.io, or needs credentials/,
    ...fails(
      "acme/secret-thing:1",
      "pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed",
    ),
  },
  {
    title: "a registry whose name does not resolve",
    yaml: deployment("web", one("registry.crop/web:1")),
    ask: "deployment/web",
    cause: "registry-name-unknown",
    says: /the name of registry registry\.crop.* does not resolve on the node/,
    ...fails(
      "registry.crop/web:1",
      `failed to do request: Head "https://registry.crop/v2/web/manifests/1": dial tcp: lookup registry.crop on 10.0.0.2:53: no such host`,
    ),
  },
  {
    title: "a registry that does not answer",
    yaml: deployment("web", one("registry.corp:5000/web:1")),
    ask: "deployment/web",
    cause: "registry-unreachable",
    says: /cannot reach registry registry\.corp:5000/,
    ...fails(
      "registry.corp:5000/web:1",
      `failed to do request: Head "https://registry.corp:5000/v2/web/manifests/1": dial tcp 10.1.1.1:5000: i/o timeout`,
    ),
  },
  {
    title: "a registry with a certificate that nobody trusts",
    yaml: deployment("web", one("registry.corp/web:1")),
    ask: "deployment/web",
    cause: "registry-certificate",
    says: /does not trust the certificate of registry registry\.corp/,
    ...fails("registry.corp/web:1", `tls: failed to verify certificate: x509: certificate signed by unknown authority`),
  },
  {
    title: "a registry's rate limit",
    yaml: deployment("web", one("nginx:1")),
    ask: "deployment/web",
    cause: "image-rate-limited",
    says: /its rate limit is reached/,
    ...fails(
      "nginx:1",
      "429 Too Many Requests - Server message: toomanyrequests: You have reached your pull rate limit.",
    ),
  },
  {
    title: "an image of another platform",
    yaml: deployment("web", one("arm-only:1")),
    ask: "deployment/web",
    cause: "image-platform",
    says: /not for the platform of the node/,
    ...fails("arm-only:1", "no match for platform in manifest: not found"),
  },
  {
    title: "an image that must not be pulled and is not there",
    yaml: deployment("web", `{containers: [{name: c, image: "local/web:dev", imagePullPolicy: Never}]}`),
    ask: "deployment/web",
    cause: "image-never-pulled",
    says: /imagePullPolicy Never forbids/,
  },
  {
    title: "a name that no image can have",
    yaml: deployment("web", one("Web:1:2")),
    ask: "deployment/web",
    cause: "image-name-invalid",
    says: /"Web:1:2" is no name of an image/,
  },

  {
    title: "a pull secret of a type that kubelets do not read",
    yaml: `
apiVersion: v1
kind: Secret
metadata: {name: regcred}
stringData: {username: a, password: b}
${deployment("web", one("registry.corp/web:1", "imagePullSecrets: [{name: regcred}], "))}`,
    ask: "deployment/web",
    cause: "image-credentials",
    says: /Secret regcred of imagePullSecrets is of type Opaque, and kubelets read only kubernetes\.io\/dockerconfigjson/,
    ...fails("registry.corp/web:1", "unexpected status from HEAD request: 401 Unauthorized"),
  },
  {
    title: "a registry that fails by itself",
    yaml: deployment("web", one("registry.corp/web:1")),
    ask: "deployment/web",
    cause: "registry-failing",
    says: /registry registry\.corp answers, but with an error of its own/,
    ...fails(
      "registry.corp/web:1",
      "unexpected status from HEAD request to https://registry.corp/v2/web/manifests/1: 503 Service Unavailable",
    ),
  },
  {
    title: "a registry that speaks HTTP only",
    yaml: deployment("web", one("registry.corp:5000/web:1")),
    ask: "deployment/web",
    cause: "registry-speaks-http",
    says: /registry registry\.corp:5000 of image registry\.corp:5000\/web:1 speaks HTTP, and the node asks by HTTPS/,
    ...fails(
      "registry.corp:5000/web:1",
      'failed to do request: Head "https://registry.corp:5000/v2/web/manifests/1": http: server gave HTTP response to HTTPS client',
    ),
  },
  {
    title: "an image that is mounted as a volume and does not exist",
    yaml: pod(
      "web",
      `{containers: [{name: c, image: "app:1", volumeMounts: [{name: model, mountPath: /m}]}], volumes: [{name: model, image: {reference: "registry.example.com/model:9"}}]}`,
    ),
    ask: "pod/web",
    cause: "image-not-found",
    says: /volume model cannot be mounted: image registry\.example\.com\/model:9 does not exist in registry\.example\.com/,
    options: { images: { "registry.example.com/model": { pullError: "registry.example.com/model:9: not found" } } },
  },
  {
    title: "an image that is mounted as a volume, must not be pulled and is not there",
    yaml: pod(
      "web",
      `{containers: [{name: c, image: "app:1", volumeMounts: [{name: model, mountPath: /m}]}], volumes: [{name: model, image: {reference: "registry.example.com/model:9", pullPolicy: Never}}]}`,
    ),
    ask: "pod/web",
    cause: "image-never-pulled",
    says: /image registry\.example\.com\/model:9 of volume model is not on node node-\d, and pullPolicy Never forbids to pull it/,
  },
]
