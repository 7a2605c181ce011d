import type { Program } from "../program.ts"

/** A playbook of a team that keeps its cluster with Ansible: its modules for Kubernetes, each with what it must do. */
const PLAYBOOK = `- hosts: localhost
  gather_facts: false
  module_defaults:
    group/kubernetes.core.k8s: { namespace: shop }
  vars: { replicas: 2, message: first }
  tasks:
    - kubernetes.core.k8s: { state: present, api_version: v1, kind: Namespace, name: shop }
    - kubernetes.core.k8s: { state: present, apply: true, template: web.yaml.j2, namespace: shop, wait: true, wait_timeout: 120, wait_sleep: 1 }
      register: applied
    - kubernetes.core.k8s_info:
        api_version: v1
        kind: Pod
        namespace: shop
        label_selectors: [app=web]
        field_selectors: [status.phase=Running]
        wait: true
        wait_condition: { type: Ready, status: "True" }
        wait_timeout: 60
      register: pods
    - assert: { that: [pods.resources | length >= replicas | int] }
`

const TEMPLATE = `apiVersion: v1
kind: ConfigMap
metadata: { name: pages }
data: { index.html: "{{ message }}" }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: {{ replicas }}
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web }, annotations: { checksum: "{{ message | hash('sha1') }}" } }
    spec:
      containers:
        - name: web
          image: k3ts.local/web:1
          readinessProbe: { httpGet: { path: /, port: 80 }, periodSeconds: 1 }
          volumeMounts: [{ name: pages, mountPath: /www }]
      volumes: [{ name: pages, configMap: { name: pages } }]
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ port: 80 }] }
`

const DAY = `- hosts: localhost
  gather_facts: false
  tasks:
    - kubernetes.core.k8s_info: { api_version: v1, kind: Pod, namespace: shop, label_selectors: [app=web] }
      register: pods
    - set_fact: { pod: "{{ pods.resources[0].metadata.name }}" }
    - kubernetes.core.k8s_exec: { namespace: shop, pod: "{{ pod }}", command: cat /www/index.html }
      register: said
    - assert: { that: [said.stdout == 'first', said.rc == 0] }
    - kubernetes.core.k8s_exec: { namespace: shop, pod: "{{ pod }}", command: "sh -c 'exit 3'" }
      register: wrong
      ignore_errors: true
    - assert: { that: [wrong is failed, wrong.rc == 3] }
    - kubernetes.core.k8s_cp: { namespace: shop, pod: "{{ pod }}", remote_path: /tmp/note, content: "a note\\n" }
    - kubernetes.core.k8s_cp: { namespace: shop, pod: "{{ pod }}", remote_path: /tmp/note, local_path: "{{ playbook_dir }}/note", state: from_pod }
    - assert: { that: ["lookup('file', 'note') == 'a note'"] }
    - kubernetes.core.k8s_scale: { api_version: apps/v1, kind: Deployment, name: web, namespace: shop, replicas: 3, wait: true, wait_timeout: 90, wait_sleep: 1 }
      register: scaled
    - assert: { that: [scaled is changed, scaled.result.status.readyReplicas == 3] }
    - kubernetes.core.k8s_json_patch:
        api_version: v1
        kind: ConfigMap
        name: pages
        namespace: shop
        patch: [{ op: add, path: /data/extra, value: "yes" }]
      register: patched
    - assert: { that: [patched is changed, patched.result.data.extra == 'yes'] }
    - kubernetes.core.k8s_log: { api_version: v1, kind: Pod, namespace: shop, name: "{{ pod }}" }
    - kubernetes.core.k8s_cluster_info:
      register: cluster
    - assert: { that: ["cluster.version.server.kubernetes.gitVersion is match('v1[.]36')", "'apps/v1' in cluster.apis"] }
    - kubernetes.core.k8s_service: { state: present, name: extra, namespace: shop, type: NodePort, ports: [{ port: 8080, protocol: TCP }], selector: { app: web } }
    - kubernetes.core.k8s:
        state: present
        definition: { apiVersion: v1, kind: ConfigMap, metadata: { name: Wrong_Name, namespace: shop } }
      register: refused
      ignore_errors: true
    - assert: { that: [refused is failed, "'Invalid value' in refused.msg"] }
    - kubernetes.core.k8s_drain: { name: "{{ query('kubernetes.core.k8s', kind='Node')[0].metadata.name }}", state: cordon }
      register: cordoned
    - assert: { that: [cordoned.result is search('unschedulable')] }
    - kubernetes.core.k8s_drain: { name: "{{ query('kubernetes.core.k8s', kind='Node')[0].metadata.name }}", state: uncordon }
    - kubernetes.core.k8s_rollback: { api_version: apps/v1, kind: Deployment, name: web, namespace: shop }
      register: rolled
      ignore_errors: true
`

const REMOVAL = `- hosts: localhost
  gather_facts: false
  tasks:
    - kubernetes.core.k8s: { state: absent, template: web.yaml.j2, namespace: shop, wait: true, wait_timeout: 60 }
      vars: { replicas: 2, message: x }
    - kubernetes.core.k8s: { state: absent, kind: Namespace, name: shop, wait: true, wait_timeout: 90 }
`

const PLAY = `export ANSIBLE_LOCALHOST_WARNING=False ANSIBLE_NOCOLOR=1 ANSIBLE_STDOUT_CALLBACK=json ANSIBLE_HOME=$PWD/.ansible LANG=C.UTF-8
# play PLAYBOOK …: prints how many tasks changed something
play() { /usr/bin/python3 ROOT/usr/bin/ansible-playbook -e ansible_python_interpreter=/usr/bin/python3 -i localhost, -c local "$@" > play.json || fail "$(jq -r '.plays[].tasks[] | select(.hosts.localhost.failed) | .task.name, .hosts.localhost.msg' play.json || cat play.json)"; jq '.stats.localhost.changed' play.json; }
`

export const ansible: Program = {
  name: "ansible",
  from: [
    {
      kind: "debian",
      package: "ansible",
      version: "7.7.0+dfsg-3+deb12u1",
      sha256: "625d3724fe2e75bfcdf8710a1549af473163cc5971350ac5d785c6ad1dec4af3",
      libraries: [
        "ansible-core",
        "kubernetes",
        ...["jinja2", "markupsafe", "yaml", "cryptography", "cffi-backend", "packaging", "resolvelib", "distutils"],
        ...["certifi", "dateutil", "google-auth", "requests", "requests-oauthlib", "oauthlib", "six", "urllib3"],
        ...["websocket", "pkg-resources", "cachetools", "pyasn1", "pyasn1-modules", "rsa", "chardet", "idna"],
        ...["jsonpatch", "json-pointer"],
      ].map((name) => (name === "ansible-core" ? name : `python3-${name}`)),
    },
  ],
  shows:
    "playbooks with its collection kubernetes.core: a template applied twice changes nothing the second time, a difference is foretold and made, exec, copies, logs, scale, patches, cordon, refusals, and the removal",
  on: "node",
  async run(at) {
    for (const [path, text] of Object.entries({ "site.yaml": PLAYBOOK, "day.yaml": DAY, "removal.yaml": REMOVAL }))
      at.write(path, text)
    at.write("web.yaml.j2", TEMPLATE)
    const root = at.had.folder("ansible")
    const play = `export PYTHONPATH=${root}/usr/lib/python3/dist-packages\n${PLAY.replace("ROOT", root)}`
    await at.step("Applying a template", 400, `${play}same 2 "$(play site.yaml)"`)
    await at.step(
      "Applying it again, foretelling a change, and making it",
      600,
      `${play}same 0 "$(play site.yaml)"
same 1 "$(play site.yaml --check -e message=second)"
same first "$(kubectl -n shop get configmap pages -o jsonpath='{.data.index\\.html}')"`,
    )
    await at.step("Doing what a day brings", 500, `${play}play day.yaml`)
    await at.step("Removing", 300, `${play}play removal.yaml`)
  },
}
