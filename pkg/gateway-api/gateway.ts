import { defineCustomResource, type ObjectOf } from "../operator/custom-resource/define-custom-resource.ts"
import { GATEWAY_GROUP } from "./k3ts-class.ts"
import { s } from "../operator/custom-resource/fields.ts"
import { group, hostname, kind, objectName, portNumber, sectionName } from "./names.ts"
import { caReference, localReference, secretReference } from "./references.ts"
import { conditions, pending } from "./status.ts"

export const labelSelector = s.object(
  {
    matchExpressions: s
      .list(s.object({ key: s.string(), operator: s.string(), values: s.list(s.string()).optional() }))
      .optional(),
    matchLabels: s.map(s.string()).optional(),
  },
  { "x-kubernetes-map-type": "atomic" },
)

export const routeGroupKinds = s.list(s.object({ group: group.default("gateway.networking.k8s.io"), kind: kind }), {
  maxItems: 8,
})

export const addressType = s.string({
  minLength: 1,
  maxLength: 253,
  pattern:
    "^Hostname|IPAddress|NamedAddress|[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\\/[A-Za-z0-9\\/\\-._~%!$&'()*+,;=:]+$",
})

export const frontendTls = s.object({
  validation: s
    .object({
      caCertificateRefs: s.list(caReference, { minItems: 1, maxItems: 16 }),
      mode: s.oneOf("AllowValidOnly", "AllowInsecureFallback").default("AllowValidOnly"),
    })
    .optional(),
})

/** The value of an address of type IPAddress must be an IP address. */
const ADDRESS_FORM = {
  oneOf: [
    { properties: { type: { enum: ["IPAddress"] }, value: { anyOf: [{ format: "ipv4" }, { format: "ipv6" }] } } },
    { properties: { type: { not: { enum: ["IPAddress"] } } } },
  ],
}

const spec = s.object({
  addresses: s
    .list(
      s
        .object(
          { type: addressType.default("IPAddress"), value: s.string({ maxLength: 253 }).optional() },
          ADDRESS_FORM,
        )
        .rule(
          'self.type == \'Hostname\' ? (!has(self.value) || self.value.matches(r"""^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$""")): true',
          "Hostname value must be empty or contain only valid characters (matching ^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$)",
        ),
      { maxItems: 16 },
    )
    .rule(
      "self.all(a1, a1.type == 'IPAddress' && has(a1.value) ? self.exists_one(a2, a2.type == a1.type && has(a2.value) && a2.value == a1.value) : true )",
      "IPAddress values must be unique",
    )
    .rule(
      "self.all(a1, a1.type == 'Hostname'  && has(a1.value) ? self.exists_one(a2, a2.type == a1.type && has(a2.value) && a2.value == a1.value) : true )",
      "Hostname values must be unique",
    )
    .optional(),
  allowedListeners: s
    .object({
      namespaces: s
        .object({
          from: s.oneOf("All", "Selector", "Same", "None").default("None"),
          selector: labelSelector.optional(),
        })
        .default({ from: "None" }),
    })
    .optional(),
  gatewayClassName: objectName,
  infrastructure: s
    .object({
      annotations: s
        .map(s.string({ minLength: 0, maxLength: 4096 }), { maxProperties: 16 })
        .rule(
          'self.all(key, key.matches(r"""^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$"""))',
          "Annotation keys must be in the form of an optional DNS subdomain prefix followed by a required name segment of up to 63 characters.",
        )
        .rule(
          'self.all(key, key.split("/")[0].size() < 253)',
          "If specified, the annotation key's prefix must be a DNS subdomain not longer than 253 characters in total.",
        )
        .optional(),
      labels: s
        .map(s.string({ minLength: 0, maxLength: 63, pattern: "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$" }), {
          maxProperties: 8,
        })
        .rule(
          'self.all(key, key.matches(r"""^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$"""))',
          "Label keys must be in the form of an optional DNS subdomain prefix followed by a required name segment of up to 63 characters.",
        )
        .rule(
          'self.all(key, key.split("/")[0].size() < 253)',
          "If specified, the label key's prefix must be a DNS subdomain not longer than 253 characters in total.",
        )
        .optional(),
      parametersRef: localReference.optional(),
    })
    .optional(),
  listeners: s
    .list(
      s.object({
        allowedRoutes: s
          .object({
            kinds: routeGroupKinds.optional(),
            namespaces: s
              .object({ from: s.oneOf("All", "Selector", "Same").default("Same"), selector: labelSelector.optional() })
              .default({ from: "Same" }),
          })
          .default({ namespaces: { from: "Same" } }),
        hostname: hostname.optional(),
        name: sectionName,
        port: portNumber,
        protocol: s.string({
          minLength: 1,
          maxLength: 255,
          pattern:
            "^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$|[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\\/[A-Za-z0-9]+$",
        }),
        tls: s
          .object({
            certificateRefs: s.list(secretReference, { maxItems: 64 }).optional(),
            mode: s.oneOf("Terminate", "Passthrough").default("Terminate"),
            options: s.map(s.string({ minLength: 0, maxLength: 4096 }), { maxProperties: 16 }).optional(),
          })
          .rule(
            "self.mode == 'Terminate' ? size(self.certificateRefs) > 0 || size(self.options) > 0 : true",
            "certificateRefs or options must be specified when mode is Terminate",
          )
          .optional(),
      }),
      { minItems: 1, maxItems: 64, keys: ["name"] },
    )
    .rule(
      "self.all(l, l.protocol in ['HTTP', 'TCP', 'UDP'] ? !has(l.tls) : true)",
      "tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']",
    )
    .rule(
      "self.all(l, (l.protocol == 'HTTPS' && has(l.tls)) ? (l.tls.mode == '' || l.tls.mode == 'Terminate') : true)",
      "tls mode must be Terminate for protocol HTTPS",
    )
    .rule(
      "self.all(l, (l.protocol == 'TLS' ? has(l.tls) && has(l.tls.mode) && l.tls.mode != '' : true))",
      "tls mode must be set for protocol TLS",
    )
    .rule(
      "self.all(l, l.protocol in ['TCP', 'UDP']  ? (!has(l.hostname) || l.hostname == '') : true)",
      "hostname must not be specified for protocols ['TCP', 'UDP']",
    )
    .rule("self.all(l1, self.exists_one(l2, l1.name == l2.name))", "Listener name must be unique within the Gateway")
    .rule(
      "self.all(l1, self.exists_one(l2, l1.port == l2.port && l1.protocol == l2.protocol && (has(l1.hostname) && has(l2.hostname) ? l1.hostname == l2.hostname : !has(l1.hostname) && !has(l2.hostname))))",
      "Combination of port, protocol and hostname must be unique for each listener",
    ),
  tls: s
    .object({
      backend: s.object({ clientCertificateRef: secretReference.optional() }).optional(),
      frontend: s
        .object({
          default: frontendTls,
          perPort: s
            .list(s.object({ port: portNumber, tls: frontendTls }), { maxItems: 64, keys: ["port"] })
            .rule(
              "self.all(t1, self.exists_one(t2, t1.port == t2.port))",
              "Port for TLS configuration must be unique within the Gateway",
            )
            .optional(),
        })
        .optional(),
    })
    .optional(),
})

const PENDING = [pending("Accepted"), pending("Programmed")]

const status = s
  .object({
    addresses: s
      .list(
        s
          .object({ type: addressType.default("IPAddress"), value: objectName }, ADDRESS_FORM)
          .rule(
            'self.type == \'Hostname\' ? self.value.matches(r"""^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"""): true',
            "Hostname value must only contain valid characters (matching ^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$)",
          ),
        { maxItems: 16 },
      )
      .optional(),
    attachedListenerSets: s.integer({ format: "int32" }).optional(),
    conditions: conditions.default(PENDING),
    listeners: s
      .list(
        s.object({
          attachedRoutes: s.integer({ format: "int32" }),
          conditions: conditions,
          name: sectionName,
          supportedKinds: routeGroupKinds.optional(),
        }),
        { maxItems: 64, keys: ["name"] },
      )
      .optional(),
  })
  .default({ conditions: PENDING })

const version = {
  spec,
  status,
  columns: {
    Class: ".spec.gatewayClassName",
    Address: ".status.addresses[*].value",
    Programmed: '.status.conditions[?(@.type=="Programmed")].status',
    Age: { path: ".metadata.creationTimestamp", type: "date" },
  },
}

export const gateway = defineCustomResource({
  group: GATEWAY_GROUP,
  kind: "Gateway",
  plural: "gateways",
  shortNames: ["gtw"],
  categories: ["gateway-api"],
  versions: { v1: { ...version, storage: true }, v1beta1: version },
})

export const Gateway = gateway.kinds.v1
export type Gateway = ObjectOf<typeof Gateway>
