import { limitPods, PODS } from "./limits.ts"
import type { Piece } from "./piece.ts"

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
    "cgroup v2 by systemd: limits, metrics, resize, the end without memory, eviction; and volumes of images (containerd 2.1)",
  async run(steps) {
    const step = (title: string, seconds: number, script: string) => steps.step(title, seconds, PODS + script)
    await limitPods(steps, "systemd", "/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/*.slice/*")
    await step("Mounting an image", 240, IMAGE_VOLUME)
    await step("Evicting pods", 700, EVICTION)
  },
}
