import type { Steps } from "../steps.ts"

/** `pod NAME COMMAND MORE` prints a pod, `folder_of POD` the cgroup of its only container, and `status_of POD FIELD`. */
export const PODS = `
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

/** Limits of the container are in its cgroup, and their sum in that of the pod. */
const LIMITS = `
pod sized 'sleep 100000' '      resources: {requests: {cpu: 100m, memory: 32Mi}, limits: {cpu: 200m, memory: 64Mi}}' |
  kubectl apply -f -
kubectl wait --for=condition=Ready pod/sized --timeout="$(bound 180)s"
folder=$(folder_of sized)
case $folder in $EXPECTED) ;; *) fail "the container's cgroup is $folder" ;; esac
echo "$folder" >/folder/sized
for each in "$folder" "$(dirname "$folder")"; do
  limits "$each" "67108864 20000 100000" || fail "the limits of $each are $(cat "$each/memory.max" "$each/cpu.max")"
  [ "$(cat "$each/cpu.weight")" -lt 100 ] || fail "the weight of $each is that of a whole processor"
done`

const METRICS = `
folder=$(cat /folder/sized)
of_node() { kubectl get --raw "/api/v1/nodes/$(hostname)/proxy/$1" >/folder/answer; }
of_node configz
grep -q "\\"cgroupDriver\\":\\"$DRIVER\\"" /folder/answer || fail "another driver: $(cat /folder/answer)"
of_node metrics/resource
for name in container_cpu_usage_seconds_total container_memory_working_set_bytes pod_memory_working_set_bytes; do
  awk -v name="$name{" 'index($1, name) == 1 && /pod="sized"/ && $2 > 0 { found = 1 } END { exit !found }' \\
    /folder/answer || fail "$name is not measured: $(cat /folder/answer)"
done
of_node metrics/cadvisor
cgroup=$(dirname "\${folder#/sys/fs/cgroup}")
grep '^container_memory_working_set_bytes{' /folder/answer | grep -qF "id=\\"$cgroup\\"" ||
  fail "nothing is told of $cgroup: $(grep sized /folder/answer)"
awk 'index($1, "container_spec_memory_limit_bytes{container=\\"c\\"") == 1 && /pod="sized"/ && $2 == 67108864 { found = 1 }
  END { exit !found }' /folder/answer || fail "the limit is not told: $(grep sized /folder/answer)"`

const RESIZE = `
folder=$(cat /folder/sized)
kubectl patch pod sized --subresource resize --patch \\
  '{"spec":{"containers":[{"name":"c","resources":{"requests":{"memory":"48Mi"},"limits":{"cpu":"300m","memory":"96Mi"}}}]}}'
until_true 120 limits "$folder" "100663296 30000 100000"
until_true 60 limits "$(dirname "$folder")" "100663296 30000 100000"
allocated() { [ "$(status_of sized .containerStatuses[0].resources.limits.memory)" = 96Mi ]; }
until_true 60 allocated
[ "$(status_of sized .containerStatuses[0].restartCount)" = 0 ] || fail "a resize restarted the container"
kubectl delete pod sized --wait=true
gone() { [ ! -e "$(dirname "$folder")" ]; }
until_true 60 gone`

/**
 * Tried three times: on a busy machine containerd may notice the end before the lack of memory, and calls it Error.
 * Source: https://github.com/containerd/containerd/issues/12372.
 */
const OUT_OF_MEMORY = `
for attempt in 1 2 3; do
  pod oom 'head -c 200m /dev/zero | tail' '      resources: {limits: {memory: 20Mi}}' | kubectl apply -f -
  until_true 180 ends oom
  ended=$(status_of oom '.containerStatuses[0].state.terminated.reason')
  if [ "$ended" = OOMKilled ]; then break; fi
  [ "$attempt" -lt 3 ] || fail "the container ended with $ended: $(kubectl get pod oom -o yaml)"
  kubectl delete pod oom
done
kubectl delete pod oom`

/** What holds with each driver of cgroups; `expected` is a pattern of sh for the cgroup of a burstable pod's container. */
export async function limitPods(steps: Steps, driver: "systemd" | "cgroupfs", expected: string): Promise<void> {
  const step = (title: string, seconds: number, script: string) => steps.step(title, seconds, PODS + script)
  await step("Starting a pod with limits", 240, LIMITS.replace("$EXPECTED", expected))
  await step("Reading what the pod uses", 120, METRICS.replace("$DRIVER", driver))
  await step("Resizing the pod", 360, RESIZE)
  await step("Letting a container use more memory than it may", 240, OUT_OF_MEMORY)
}
