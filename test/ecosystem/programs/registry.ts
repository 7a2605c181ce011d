import { readFileSync } from "node:fs"
import { buildImageArchive } from "../../../pkg/oci/archive.ts"
import { debianImage } from "../debian-image.ts"
import type { Program } from "../program.ts"

/** A registry of one's own, with a password and a claim, on a port of the node: after its documentation. */
const REGISTRY = `apiVersion: v1
kind: Namespace
metadata: { name: registry }
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: images, namespace: registry }
spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 256Mi } } }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: registry, namespace: registry }
spec:
  strategy: { type: Recreate }
  selector: { matchLabels: { app: registry } }
  template:
    metadata: { labels: { app: registry } }
    spec:
      terminationGracePeriodSeconds: 5
      securityContext: { runAsUser: 108, runAsGroup: 108, fsGroup: 108, runAsNonRoot: true }
      containers:
        - name: registry
          image: docker.io/library/registry:2.8.2
          command: [docker-registry, serve, /etc/docker/registry/config.yml]
          env:
            - { name: REGISTRY_STORAGE_FILESYSTEM_ROOTDIRECTORY, value: /data }
            - { name: REGISTRY_STORAGE_DELETE_ENABLED, value: "true" }
            - { name: REGISTRY_HTTP_ADDR, value: ":5000" }
            - { name: REGISTRY_AUTH, value: htpasswd }
            - { name: REGISTRY_AUTH_HTPASSWD_REALM, value: images }
            - { name: REGISTRY_AUTH_HTPASSWD_PATH, value: /etc/users/htpasswd }
          ports: [{ name: http, containerPort: 5000, hostPort: 5000 }]
          readinessProbe: { httpGet: { path: /, port: http }, periodSeconds: 1 }
          resources: { requests: { cpu: 10m, memory: 32Mi }, limits: { memory: 256Mi } }
          volumeMounts: [{ name: images, mountPath: /data }, { name: users, mountPath: /etc/users }]
      volumes:
        - { name: images, persistentVolumeClaim: { claimName: images } }
        - { name: users, secret: { secretName: users } }
`

const APP = `apiVersion: apps/v1
kind: Deployment
metadata: { name: app, namespace: shop }
spec:
  selector: { matchLabels: { app: app } }
  template:
    metadata: { labels: { app: app } }
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{ name: app, image: "127.0.0.1:5000/shop/app:1", imagePullPolicy: Always, command: [sh, -c, "cat /version; exec sleep 3600"] }]
`

/** An image of a team, which no registry has yet. */
const app = (version: string): Uint8Array =>
  buildImageArchive({
    name: "shop/app:1",
    layers: [
      {
        files: [
          { type: "directory", path: "bin" },
          { type: "file", path: "bin/busybox", data: readFileSync("/bin/busybox"), mode: 0o755 },
          ...["sh", "cat", "sleep"].map(
            (name) => ({ type: "symlink", path: `bin/${name}`, target: "/bin/busybox" }) as const,
          ),
        ],
      },
      { files: [{ type: "file", path: "version", data: Buffer.from(version) }], gzip: true },
    ],
    config: { Env: ["PATH=/bin"], Cmd: ["sh"] },
  })

const TOOLS = `skopeo() { LD_LIBRARY_PATH=ROOT/usr/lib/x86_64-linux-gnu:ROOT/lib/x86_64-linux-gnu command skopeo --insecure-policy "$@"; }
push() { skopeo copy --dest-creds shop:opensesame --dest-tls-verify=false "docker-archive:$1" "docker://127.0.0.1:5000/shop/app:$2"; }
logs() { kubectl -n shop logs deployment/app; }
says() { [ "$(logs)" = "$1" ]; }
reason() { kubectl -n shop get pods -l app=app -o jsonpath='{.items[*].status.containerStatuses[0].state.waiting.reason}'; }
waits() { case $(reason) in *ErrImagePull*|*ImagePullBackOff*) ;; *) false ;; esac; }
`

export const registry: Program = {
  name: "docker-registry",
  from: [
    {
      kind: "debian",
      package: "docker-registry",
      version: "2.8.2+ds1-1",
      sha256: "a9bd06c0e006854608f8469b4371743f40604ad90975532bb3b7ceeb72fe2913",
      libraries: ["libc6"],
    },
    {
      kind: "debian",
      package: "skopeo",
      version: "1.9.3+ds1-1+b10",
      sha256: "5c1978f6a95577b143be772bbe50c247a28132a5cc961c74d4d2a6f2b1ab4f3d",
      libraries: ["libgpgme11", "libassuan0", "libdevmapper1.02.1"],
    },
  ],
  shows:
    "a registry with a password in the cluster, on a port of the node: an image pushed by `skopeo` is refused without a pull secret and runs with that of its account, anew under the same tag, by digest, and after the registry was away",
  on: "node",
  images: (had) => [
    debianImage({
      name: "docker.io/library/registry:2.8.2",
      root: had.folder("docker-registry"),
      user: { name: "registry", id: 108, home: "/data" },
      writable: ["data"],
    }),
  ],
  async run(at) {
    at.write("registry.yaml", REGISTRY)
    at.write("app.yaml", APP)
    at.write("first.tar", app("first\n"))
    at.write("second.tar", app("second\n"))
    at.write("htpasswd", `shop:${await Bun.password.hash("opensesame", { algorithm: "bcrypt", cost: 5 })}\n`)
    const tools = TOOLS.replaceAll("ROOT", at.had.folder("skopeo"))
    await at.step(
      "Installing, and pushing",
      150,
      `${tools}kubectl create namespace registry
kubectl -n registry create secret generic users --from-file=htpasswd
kubectl apply -f registry.yaml
kubectl -n registry rollout status deployment/registry --timeout=90s
push first.tar 1
has "$(skopeo list-tags --creds shop:opensesame --tls-verify=false docker://127.0.0.1:5000/shop/app)" '"1"'`,
    )
    await at.step(
      "Pulling without the password, and with it",
      180,
      `${tools}kubectl create namespace shop
kubectl apply -f app.yaml
until_true 60 waits
has "$(kubectl -n shop events)" '401'
kubectl -n shop create secret docker-registry pull --docker-server=127.0.0.1:5000 --docker-username=shop --docker-password=opensesame
kubectl -n shop patch serviceaccount default -p '{"imagePullSecrets":[{"name":"pull"}]}'
kubectl -n shop rollout restart deployment/app
kubectl -n shop rollout status deployment/app --timeout=90s
until_true 20 says first`,
    )
    await at.step(
      "Pushing anew under the same tag, and pinning a digest",
      180,
      `${tools}push second.tar 1
push first.tar old
kubectl -n shop rollout restart deployment/app
kubectl -n shop rollout status deployment/app --timeout=90s
until_true 20 says second
digest=$(skopeo inspect --creds shop:opensesame --tls-verify=false docker://127.0.0.1:5000/shop/app:old | jq -r .Digest)
kubectl -n shop set image deployment/app "app=127.0.0.1:5000/shop/app@$digest"
kubectl -n shop rollout status deployment/app --timeout=90s
until_true 20 says first
has "$(kubectl -n shop get pods -l app=app -o jsonpath='{.items[*].status.containerStatuses[0].imageID}')" "$digest"`,
    )
    await at.step(
      "Losing the registry, and having it again",
      240,
      `${tools}kubectl -n registry scale deployment/registry --replicas=0
kubectl -n registry wait pod -l app=registry --for=delete --timeout=60s
kubectl -n shop delete pod -l app=app --wait=false
until_true 60 waits
has "$(kubectl -n shop events)" 'connection refused'
kubectl -n registry scale deployment/registry --replicas=1
kubectl -n registry rollout status deployment/registry --timeout=60s
kubectl -n shop rollout status deployment/app --timeout=150s
until_true 20 says first`,
    )
    await at.step("Deleting", 120, "kubectl delete namespace shop registry --timeout=100s")
  },
}
