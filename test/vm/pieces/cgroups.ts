import type { Piece } from "./piece.ts"

/** `folder_of POD` prints the cgroup of its only container, and `phase_of POD` its phase. */
const PODS = `
folder_of() {
  id=$(kubectl get pod "$1" -o jsonpath='{.status.containerStatuses[0].containerID}')
  find /sys/fs/cgroup -type d -name "*\${id##*/}*" | head -n 1
}
ends() { kubectl get pod "$1" -o jsonpath='{.status.phase}' | grep -qE 'Succeeded|Failed'; }
limits() { [ "$(cat "$1/memory.max") $(cat "$1/cpu.max")" = "$2" ]; }
status_of() { kubectl get pod "$1" -o jsonpath="{.status$2}"; }
pod() {
  cat <<END
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  containers:
    - name: c
      image: k3ts.local/web:1
      imagePullPolicy: Never
      command: [sh, -c, "$2"]
$3
END
}
`

const LIMITS = `
pod sized 'sleep 100000' '      resources: {requests: {cpu: 100m, memory: 32Mi}, limits: {cpu: 200m, memory: 64Mi}}' |
  kubectl apply -f -
kubectl wait --for=condition=Ready pod/sized --timeout=180s
folder=$(folder_of sized)
case $folder in */kubepods$SLICE/*) ;; *) fail "the container's cgroup is $folder" ;; esac
limits "$folder" "67108864 20000 100000" || fail "the limits are $(cat "$folder/memory.max" "$folder/cpu.max")"
kubectl patch pod sized --subresource resize --patch \\
  '{"spec":{"containers":[{"name":"c","resources":{"requests":{"memory":"48Mi"},"limits":{"cpu":"300m","memory":"96Mi"}}}]}}'
until_true 120 limits "$folder" "100663296 30000 100000"
allocated() { [ "$(status_of sized .containerStatuses[0].resources.limits.memory)" = 96Mi ]; }
until_true 60 allocated
[ "$(status_of sized .containerStatuses[0].restartCount)" = 0 ] || fail "a resize restarted the container"
kubectl delete pod sized --wait=true
gone() { [ ! -e "$(dirname "$folder")" ]; }
until_true 60 gone`

const OUT_OF_MEMORY = `
pod oom 'head -c 200m /dev/zero | tail' '      resources: {limits: {memory: 20Mi}}' | kubectl apply -f -
until_true 180 ends oom
ended=$(status_of oom '.containerStatuses[0].state.terminated.reason')
[ "$ended" = OOMKilled ] || fail "the container ended with $ended: $(kubectl get pod oom -o yaml)"
kubectl delete pod oom`

const EVICTION = `
evicted() { [ "$(status_of "$1" .reason)" = Evicted ]; }
pod disk 'head -c 20m /dev/zero >/v/file; sleep 100000' '      volumeMounts: [{name: v, mountPath: /v}]
  volumes: [{name: v, emptyDir: {sizeLimit: 5Mi}}]' | kubectl apply -f -
until_true 240 evicted disk
status_of disk .message | grep -q 'exceeds the limit "5Mi"' || fail "it was evicted: $(status_of disk .message)"
kubectl delete pod disk
# A pod that takes a GiB of memory, on a node that wants more than half of its memory free.
echo 'kubelet-arg: ["eviction-hard=memory.available<1600Mi", "eviction-pressure-transition-period=60s"]' >>/etc/k3ts/config.yaml
systemctl restart k3ts
until_true 120 node_ready
pod hog 'head -c 1000m /dev/zero >/v/file; sleep 100000' '      volumeMounts: [{name: v, mountPath: /v}]
  volumes: [{name: v, emptyDir: {medium: Memory}}]' | kubectl apply -f -
until_true 300 evicted hog
status_of hog .message | grep -q 'The node was low on resource: memory' || fail "evicted: $(status_of hog .message)"
tainted() { kubectl get node -o jsonpath="{.items[0].spec.taints[*].key}" | grep -q memory-pressure; }
until_true 60 tainted
kubectl get pods -l app=web --no-headers | grep -c Running | grep -qx 2 || fail "web servers were evicted too"
kubectl delete pod hog`

const IMAGE_VOLUME = `
pod image 'cat /image/bin/busybox | head -c 4 | tail -c 3; touch /image/file' \\
  '      volumeMounts: [{name: v, mountPath: /image}]
  volumes: [{name: v, image: {reference: k3ts.local/web:1, pullPolicy: Never}}]' | kubectl apply -f -
until_true 180 ends image
kubectl logs image >/folder/log
grep -q ELF /folder/log || fail "the image is not mounted: $(cat /folder/log; kubectl describe pod image)"
grep -q 'Read-only file system' /folder/log || fail "the image can be written to: $(cat /folder/log)"
kubectl delete pod image`

export const cgroups: Piece = {
  debian: "containerd2",
  shows:
    "cgroup v2 by systemd: limits, resize, the end without memory, eviction; and volumes of images (containerd 2.1)",
  async run(steps) {
    const step = (title: string, seconds: number, script: string) => steps.step(title, seconds, PODS + script)
    await step("Resizing a pod", 420, `SLICE=.slice${LIMITS}`)
    await step("Letting a container use more memory than it may", 240, OUT_OF_MEMORY)
    await step("Mounting an image", 240, IMAGE_VOLUME)
    await step("Evicting pods", 700, EVICTION)
  },
}
