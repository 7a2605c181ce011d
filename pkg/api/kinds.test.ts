import { describe, expect, test } from "bun:test"
import { validateObject } from "../apimachinery/validation/validate.ts"
import { RESOURCES } from "./resources.ts"
import { type Json, find, prepared, lines } from "./kinds.fixtures.ts"

describe("creating", () => {
  test.each<[string, string, Json, string[]]>([
    [
      "EndpointSlice discovery.k8s.io/v1",
      "an IPv6 address in a slice of IPv4",
      { addressType: "IPv4", endpoints: [{ addresses: ["2001:db8::1"] }] },
      [`endpoints[0].addresses: Invalid value: "2001:db8::1": must be an IPv4 address`],
    ],
    [
      "EndpointSlice discovery.k8s.io/v1",
      "no addresses",
      { addressType: "IPv4", endpoints: [{}] },
      ["endpoints[0].addresses: Required value: must contain at least 1 address"],
    ],
    ["EndpointSlice discovery.k8s.io/v1", "no type", { endpoints: [] }, ["addressType: Required value"]],
    [
      "Lease coordination.k8s.io/v1",
      "no time at all",
      { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } },
      [
        "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
        "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
      ],
    ],
    [
      "Role rbac.authorization.k8s.io/v1",
      "paths",
      { rules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }] },
      [`rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs`],
    ],
    [
      "Role rbac.authorization.k8s.io/v1",
      "a rule about nothing",
      { rules: [{}] },
      [
        "rules[0].verbs: Required value: verbs must contain at least one value",
        "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
        "rules[0].resources: Required value: resource rules must supply at least one resource",
      ],
    ],
    ["Role rbac.authorization.k8s.io/v1", "a name with colons", { metadata: { name: "system:x" } }, []],
    [
      "ClusterRoleBinding rbac.authorization.k8s.io/v1",
      "a role, and an account of no namespace",
      { roleRef: { kind: "Role", name: "r" }, subjects: [{ kind: "ServiceAccount", name: "s" }] },
      [
        `roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"`,
        "subjects[0].namespace: Required value",
      ],
    ],
    [
      "PriorityClass scheduling.k8s.io/v1",
      "a reserved name",
      { metadata: { name: "system-mine" }, value: 1 },
      [
        "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use " +
          "only. error: system-mine is not a known system priority class",
      ],
    ],
    [
      "PriorityClass scheduling.k8s.io/v1",
      "too much",
      { value: 1000000001 },
      ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
    ],
    [
      "Ingress networking.k8s.io/v1",
      "nothing to do",
      { spec: {} },
      ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"],
    ],
    [
      "Ingress networking.k8s.io/v1",
      "a relative path",
      {
        spec: {
          rules: [
            {
              http: {
                paths: [{ path: "x", pathType: "Prefix", backend: { service: { name: "s", port: { number: 80 } } } }],
              },
            },
          ],
        },
      },
      [`spec.rules[0].http.paths[0].path: Invalid value: "x": must be an absolute path`],
    ],
    [
      "NetworkPolicy networking.k8s.io/v1",
      "a peer that is nobody",
      { spec: { ingress: [{ from: [{}] }] } },
      ["spec.ingress[0].from[0]: Required value: must specify a peer"],
    ],
    [
      "NetworkPolicy networking.k8s.io/v1",
      "an exception outside its range",
      { spec: { ingress: [{ from: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["11.0.0.0/16"] } }] }] } },
      [`spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of \`cidr\``],
    ],
    [
      "Ingress networking.k8s.io/v1",
      "a path of no type",
      {
        spec: {
          rules: [{ http: { paths: [{ path: "/", backend: { service: { name: "s", port: { number: 80 } } } }] } }],
        },
      },
      ["spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified"],
    ],
    [
      "Ingress networking.k8s.io/v1",
      "backends that are none",
      {
        spec: {
          defaultBackend: {},
          rules: [
            { http: { paths: [{ path: "/", pathType: "Exact", backend: { service: { name: "1s", port: {} } } }] } },
          ],
        },
      },
      [
        'spec.defaultBackend: Invalid value: "": resource or service backend is required',
        "spec.rules[0].http.paths[0].backend: Required value: port name or number is required",
      ],
    ],
    [
      "Ingress networking.k8s.io/v1",
      "an address for a host, and two classes",
      {
        metadata: { annotations: { "kubernetes.io/ingress.class": "a" } },
        spec: { ingressClassName: "b", rules: [{ host: "10.0.0.1" }], tls: [{ hosts: ["*"], secretName: "S" }] },
      },
      [
        'spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
        `spec.tls[0].hosts[0]: Invalid value: "*": a wildcard DNS-1123 subdomain must start with '*.', ` +
          "followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or " +
          "'.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is " +
          "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        `spec.tls[0].secretName: Invalid value: "S": a lowercase RFC 1123 subdomain must consist of lower ` +
          "case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character " +
          "(e.g. 'example.com', regex used for validation is " +
          "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        'annotations.kubernetes.io/ingress.class: Invalid value: "a": must match `ingressClassName` when both ' +
          "are specified",
      ],
    ],
    [
      "IngressClass networking.k8s.io/v1",
      "a controller of no domain",
      { spec: { controller: "nginx" } },
      ['spec.controller: Invalid value: "nginx": must be a domain-prefixed path (such as "acme.io/foo")'],
    ],
    [
      "NetworkPolicy networking.k8s.io/v1",
      "ends of no ports",
      { spec: { ingress: [{ ports: [{ endPort: 80 }, { port: "http", endPort: 80 }, { port: 90, endPort: 80 }] }] } },
      [
        "spec.ingress[0].ports[0].endPort: Invalid value: 80: may not be specified when `port` is not specified",
        "spec.ingress[0].ports[1].endPort: Invalid value: 80: may not be specified when `port` is non-numeric",
        "spec.ingress[0].ports[2].endPort: Invalid value: 90: must be greater than or equal to `port`",
      ],
    ],
    [
      "NetworkPolicy networking.k8s.io/v1",
      "a range with further bits",
      { spec: { ingress: [{ from: [{ ipBlock: { cidr: "10.0.0.1/8", except: ["10.0.0.0/8"] } }] }] } },
      [
        'spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.1/8": must not have bits set beyond the ' +
          "prefix length",
        'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
      ],
    ],
    [
      "StatefulSet apps/v1",
      "a mount of a volume that neither the pod nor a claim has",
      {
        spec: {
          selector: { matchLabels: { a: "b" } },
          volumeClaimTemplates: [
            {
              metadata: { name: "data" },
              spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
            },
          ],
          template: {
            metadata: { labels: { a: "b" } },
            spec: {
              containers: [
                {
                  name: "c",
                  image: "i",
                  volumeMounts: [
                    { name: "data", mountPath: "/d" },
                    { name: "other", mountPath: "/o" },
                  ],
                },
              ],
            },
          },
        },
      },
      ['spec.template.spec.containers[0].volumeMounts[1].name: Not found: "other"'],
    ],
    [
      "StatefulSet apps/v1",
      "a claim of no size, a Service of no name, and no pod to be replaced",
      {
        spec: {
          selector: { matchLabels: { a: "b" } },
          serviceName: "A",
          updateStrategy: { rollingUpdate: { maxUnavailable: 0 } },
          volumeClaimTemplates: [{ metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"] } }],
          template: {
            metadata: { labels: { a: "b" } },
            spec: {
              restartPolicy: "Always",
              containers: [{ name: "c", image: "i", terminationMessagePolicy: "File", imagePullPolicy: "Always" }],
            },
          },
        },
      },
      [
        "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: 0: cannot be 0",
        "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value",
        `spec.serviceName: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case ` +
          "alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. " +
          "'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
      ],
    ],
    [
      "DaemonSet apps/v1",
      "a deadline",
      {
        spec: {
          selector: { matchLabels: { a: "b" } },
          template: {
            metadata: { labels: { a: "b" } },
            spec: {
              restartPolicy: "Always",
              containers: [{ name: "c", image: "i", terminationMessagePolicy: "File", imagePullPolicy: "Always" }],
              activeDeadlineSeconds: 5,
            },
          },
        },
      },
      ["spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in DaemonSet is not Supported"],
    ],
    [
      "Job batch/v1",
      "rules on failures that are none",
      {
        spec: {
          template: {
            metadata: { labels: { a: "b" } },
            spec: {
              restartPolicy: "Never",
              containers: [{ name: "c", image: "i", terminationMessagePolicy: "File", imagePullPolicy: "Always" }],
            },
          },
          podFailurePolicy: {
            rules: [{ action: "FailJob" }, { action: "FailIndex", onExitCodes: { operator: "In", values: [3, 0, 3] } }],
          },
        },
      },
      [
        "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
        'spec.podFailurePolicy.rules[1].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex ' +
          "to be set",
        "spec.podFailurePolicy.rules[1].onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator",
        "spec.podFailurePolicy.rules[1].onExitCodes.values[2]: Duplicate value: 3",
        "spec.podFailurePolicy.rules[1].onExitCodes.values: Invalid value: [3,0,3]: must be ordered",
      ],
    ],
    [
      "Job batch/v1",
      "a selector of its user",
      {
        spec: {
          selector: { matchLabels: { a: "b" } },
          template: {
            metadata: { labels: { a: "b" } },
            spec: {
              restartPolicy: "Never",
              containers: [{ name: "c", image: "i", terminationMessagePolicy: "File", imagePullPolicy: "Always" }],
            },
          },
        },
      },
      [
        'spec.selector: Invalid value: {"matchLabels":{"a":"b","batch.kubernetes.io/controller-uid":""}}: ' +
          "`selector` not auto-generated",
      ],
    ],
    [
      "Job batch/v1",
      "indexes that are too large, and a manager of no domain",
      {
        spec: {
          completionMode: "Indexed",
          completions: 3,
          managedBy: "me",
          successPolicy: { rules: [{ succeededIndexes: "0-5" }, { succeededCount: 4 }] },
          template: {
            metadata: { labels: { a: "b" } },
            spec: {
              restartPolicy: "Never",
              containers: [{ name: "c", image: "i", terminationMessagePolicy: "File", imagePullPolicy: "Always" }],
            },
          },
        },
      },
      [
        'spec.managedBy: Invalid value: "me": must be a domain-prefixed path (such as "acme.io/foo")',
        'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "0-5": error parsing succeededIndexes: ' +
          'too large index: "5"',
        "spec.successPolicy.rules[1].succeededCount: Invalid value: 4: must be less than or equal to 3 (the " +
          "number of specified completions)",
      ],
    ],
    [
      "CronJob batch/v1",
      "a time zone in two places",
      {
        spec: {
          schedule: "TZ=UTC * * * * *",
          timeZone: "Mars/Olympus",
          jobTemplate: {
            spec: {
              template: {
                metadata: { labels: { a: "b" } },
                spec: {
                  restartPolicy: "Never",
                  containers: [{ name: "c", image: "i", terminationMessagePolicy: "File", imagePullPolicy: "Always" }],
                },
              },
            },
          },
        },
      },
      [
        'spec.schedule: Invalid value: "TZ=UTC * * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone ' +
          "field instead",
        'spec.timeZone: Invalid value: "Mars/Olympus": unknown time zone Mars/Olympus',
      ],
    ],
    [
      "PodDisruptionBudget policy/v1",
      "both counts",
      { spec: { minAvailable: 1, maxUnavailable: "50%" } },
      [
        "spec: Invalid value: " +
          '{"MinAvailable":1,"Selector":null,"MaxUnavailable":"50%","UnhealthyPodEvictionPolicy":null}: ' +
          "minAvailable and maxUnavailable cannot be both set",
      ],
    ],
    [
      "RoleBinding rbac.authorization.k8s.io/v1",
      "a role and a subject of unknown kinds",
      { roleRef: { kind: "Group", name: "r" }, subjects: [{ kind: "Robot", name: "x" }] },
      [
        'roleRef.kind: Unsupported value: "Group": supported values: "Role", "ClusterRole"',
        'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
      ],
    ],
    [
      "TokenRequest authentication.k8s.io/v1",
      "five minutes",
      { spec: { expirationSeconds: 300 } },
      ["spec.expirationSeconds: Invalid value: 300: may not specify a duration less than 10 minutes"],
    ],
    [
      "SubjectAccessReview authorization.k8s.io/v1",
      "no question",
      { spec: { user: "u" } },
      [
        "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or " +
          "resourceAttributes must be specified",
        'metadata: Invalid value: {"name":"a"}: must be empty',
      ],
    ],
  ])("%s: %s", (name, _title, body, wanted) => {
    const resource = find(name)
    expect(lines(validateObject(resource, prepared(resource, body)))).toEqual(wanted)
  })

  test("validation of an empty object and columns of a valid one throw for no kind", () => {
    for (const resource of RESOURCES) {
      const empty = prepared(resource, {})
      const causes = validateObject(resource, empty)
      if (causes.length > 0) continue
      for (const column of resource.columns ?? []) column.value(empty, 0)
      for (const path of Object.keys(resource.fieldSelectors ?? {}))
        expect(typeof resource.fieldSelectors?.[path]?.(empty)).toBe("string")
    }
  })
})
