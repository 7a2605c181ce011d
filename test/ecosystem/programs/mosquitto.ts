import { debianImage } from "../debian-image.ts"
import type { Program } from "../program.ts"

/** A broker with passwords and a claim, after Mosquitto's documentation. */
const MOSQUITTO = `apiVersion: v1
kind: Namespace
metadata: { name: mqtt }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: mosquitto, namespace: mqtt }
data:
  mosquitto.conf: |
    listener 1883
    persistence true
    persistence_location /data/
    autosave_on_changes true
    autosave_interval 1
    password_file /data/passwords
    acl_file /etc/mosquitto/acl
    log_dest stdout
  acl: |
    user sensor
    topic write plant/#
    user board
    topic read plant/#
---
apiVersion: v1
kind: Secret
metadata: { name: users, namespace: mqtt }
stringData: { passwords: "sensor:secret1\\nboard:secret2\\n" }
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: data, namespace: mqtt }
spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 64Mi } } }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: mosquitto, namespace: mqtt }
spec:
  strategy: { type: Recreate }
  selector: { matchLabels: { app: mosquitto } }
  template:
    metadata: { labels: { app: mosquitto } }
    spec:
      securityContext: { runAsUser: 105, runAsGroup: 105, fsGroup: 105, runAsNonRoot: true }
      initContainers:
        - name: passwords
          image: docker.io/library/eclipse-mosquitto:2.0.11
          command: [sh, -c, "cp /etc/users/passwords /data/passwords && chmod 600 /data/passwords && mosquitto_passwd -U /data/passwords"]
          volumeMounts: [{ name: data, mountPath: /data }, { name: users, mountPath: /etc/users }]
      containers:
        - name: mosquitto
          image: docker.io/library/eclipse-mosquitto:2.0.11
          command: [mosquitto, -c, /etc/mosquitto/mosquitto.conf]
          ports: [{ name: mqtt, containerPort: 1883 }]
          readinessProbe: { tcpSocket: { port: mqtt }, periodSeconds: 1 }
          resources: { requests: { cpu: 10m, memory: 16Mi }, limits: { memory: 64Mi } }
          volumeMounts: [{ name: data, mountPath: /data }, { name: config, mountPath: /etc/mosquitto }]
      volumes:
        - { name: data, persistentVolumeClaim: { claimName: data } }
        - { name: config, configMap: { name: mosquitto } }
        - { name: users, secret: { secretName: users } }
---
apiVersion: v1
kind: Service
metadata: { name: mosquitto, namespace: mqtt }
spec:
  type: LoadBalancer
  selector: { app: mosquitto }
  ports: [{ name: mqtt, port: 1883, targetPort: mqtt, nodePort: 31883 }]
`

/** The clients run on the machine, as devices do that are in no cluster. */
const CLIENTS = `address=$(kubectl -n mqtt get service mosquitto -o jsonpath='{.status.loadBalancer.ingress[0].ip}')
export LD_LIBRARY_PATH=LIBRARIES
publish() { mosquitto_pub -h "$address" -p "\${PORT:-1883}" -u sensor -P secret1 -q 1 "$@"; }
# hear SECONDS COUNT …: so many messages, each on a line
hear() { mosquitto_sub -h "$address" -p "\${PORT:-1883}" -u board -P secret2 -q 1 -W "$1" -C "$2" -v "\${@:3}"; }
`

export const mosquitto: Program = {
  name: "mosquitto",
  from: [
    {
      kind: "debian",
      package: "mosquitto",
      version: "2.0.11-1.2+deb12u2",
      sha256: "a49e90d58d84bded78b96f09aece0e3a3dd432fb4b0620ef5012f3718094c24b",
      libraries: [
        ...[
          "mosquitto-clients",
          "libmosquitto1",
          "libc6",
          "libcap2",
          "libcjson1",
          "libdlt2",
          "libgcrypt20",
          "libwrap0",
        ],
        ...["libgpg-error0", "liblz4-1", "liblzma5", "libssl3", "libsystemd0", "libzstd1", "libnsl2", "libtirpc3"],
        ...["libgssapi-krb5-2", "libkrb5-3", "libk5crypto3", "libkrb5support0", "libkeyutils1", "libcom-err2"],
      ],
    },
  ],
  shows:
    "a broker with users and a claim, for clients outside of the cluster: a retained message and one for a client that is away outlive the broker, connections by load balancer, node port and `kubectl port-forward`, rights changed without a restart",
  on: "node",
  images: (had) => [
    debianImage({
      name: "docker.io/library/eclipse-mosquitto:2.0.11",
      root: had.folder("mosquitto"),
      user: { name: "mosquitto", id: 105, home: "/data" },
      writable: ["data"],
    }),
  ],
  async run(at) {
    at.write("mosquitto.yaml", MOSQUITTO)
    const clients = CLIENTS.replace("LIBRARIES", `${at.had.folder("mosquitto")}/usr/lib/x86_64-linux-gnu`)
    await at.step(
      "Installing",
      150,
      `kubectl apply -f mosquitto.yaml
kubectl -n mqtt rollout status deployment/mosquitto --timeout=120s
until_true 60 sh -c '[ -n "$(kubectl -n mqtt get service mosquitto -o jsonpath="{.status.loadBalancer.ingress[0].ip}")" ]'`,
    )
    await at.step(
      "Publishing by every way that leads there",
      120,
      `${clients}hear 40 3 -t 'plant/#' > heard.txt & listener=$!
sleep 2
publish -t plant/one -m first
PORT=31883 publish -t plant/two -m second
kubectl -n mqtt port-forward service/mosquitto 18830:1883 > forward.txt & forward=$!
until_true 20 grep -q Forwarding forward.txt
address=127.0.0.1 PORT=18830 publish -t plant/three -m third
kill $forward
wait $listener
same "$(printf 'plant/one first\\nplant/two second\\nplant/three third')" "$(cat heard.txt)"
refused=$(mosquitto_pub -h "$address" -u sensor -P wrong -t plant/one -m x 2>&1 || true)
has "$refused" 'not authorised'`,
    )
    await at.step(
      "Ending the broker without notice",
      150,
      `${clients}hear 1 1 -i board1 -c -t 'plant/later' || true
publish -t plant/last -r -m retained
publish -t plant/later -m waiting
sleep 3
kubectl -n mqtt delete pod -l app=mosquitto --force --grace-period=0
kubectl -n mqtt rollout status deployment/mosquitto --timeout=90s
kept() { [ "$(hear 5 1 -t plant/last)" = 'plant/last retained' ]; }
until_true 30 kept
same 'plant/later waiting' "$(hear 20 1 -i board1 -c -t plant/later)"`,
    )
    await at.step(
      "Giving a right without a restart",
      240,
      `${clients}sed 's|topic write plant/#|topic write plant/#\\n    topic write office/#|; s|topic read plant/#|topic read plant/#\\n    topic read office/#|' mosquitto.yaml | kubectl apply -f -
pod=$(kubectl -n mqtt get pods -l app=mosquitto -o jsonpath='{.items[0].metadata.name}')
until_true 120 kubectl -n mqtt exec "$pod" -- grep -q office /etc/mosquitto/acl
kubectl -n mqtt exec "$pod" -- kill -HUP 1
sleep 1
publish -t office/door -r -m open
same 'office/door open' "$(hear 10 1 -t office/door)"
same 0 "$(kubectl -n mqtt get pod "$pod" -o jsonpath='{.status.containerStatuses[0].restartCount}')"`,
    )
    await at.step("Deleting", 120, "kubectl delete namespace mqtt --timeout=100s")
  },
}
