import type { Program } from "../program.ts"

const TALKERS = `apiVersion: apps/v1
kind: Deployment
metadata: { name: talkers }
spec:
  replicas: 2
  selector: { matchLabels: { app: talkers } }
  template:
    metadata: { labels: { app: talkers } }
    spec:
      terminationGracePeriodSeconds: 1
      initContainers:
        - { name: first, image: "k3ts.local/busybox:1", command: [sh, -c, echo begins] }
      containers:
        - { name: loud, image: "k3ts.local/busybox:1", command: [sh, -c, 'while :; do echo "loud: $(hostname)"; sleep 1; done'] }
        - { name: quiet, image: "k3ts.local/busybox:1", command: [sh, -c, 'echo quiet; exec sleep 3600'] }
`

export const stern: Program = {
  name: "stern",
  from: [
    {
      kind: "go",
      module: "github.com/stern/stern",
      version: "v1.33.0",
      sum: "h1:iIXPmWW1Z6wgyKKxG7MJ8FrtGDZCnJDMBzi4Q/kExSo=",
      program: "stern",
    },
  ],
  shows:
    "logs of all containers of a Deployment, by name, label and container; followed over a scale-up and the end of pods",
  on: "node",
  async run(at) {
    at.write("talkers.yaml", TALKERS)
    await at.step(
      "Reading logs that there are",
      120,
      `kubectl apply -f talkers.yaml
kubectl rollout status deployment/talkers --timeout=60s
stern talkers --no-follow --color never > all.txt
has "$(cat all.txt)" ' first begins'
has "$(cat all.txt)" ' quiet quiet'
has "$(cat all.txt)" ' loud loud: talkers-'
stern deployment/talkers --no-follow --container quiet --output raw > quiet.txt
same 'quiet quiet' "$(tr '\\n' ' ' < quiet.txt | sed 's/ $//')"
stern --selector app=talkers --no-follow --tail 1 --container loud --timestamps --output json > last.json
same 2 "$(jq -s 'map(.podName) | unique | length' last.json)"
stern . --all-namespaces --no-follow --include nothing-has-this --exclude-container loud`,
    )
    await at.step(
      "Following pods that come and go",
      120,
      `stern --selector app=talkers --container loud --color never --tail 0 > followed.txt 2> followed-errors.txt &
follower=$!
trap "kill $follower 2>/dev/null || true" EXIT
until_true 20 grep -q loud: followed.txt
kubectl scale deployment/talkers --replicas=3
kubectl rollout status deployment/talkers --timeout=60s
new=$(kubectl get pods -l app=talkers --sort-by=.metadata.creationTimestamp -o name | tail -1 | cut -d/ -f2)
until_true 20 grep -q "^+ $new" followed.txt followed-errors.txt
until_true 20 grep -q "loud: $new" followed.txt
kubectl delete pod "$new" --timeout=60s
until_true 20 grep -q "^- $new" followed.txt followed-errors.txt
kill -0 $follower || fail "it has ended: $(cat followed-errors.txt)"`,
    )
    await at.step("Deleting", 60, `kubectl delete -f talkers.yaml --timeout=50s`)
  },
}
