// Histories for the tests and for the pictures of docs/report.md: one violation for each kind of model and object.

export const TSO = '[0] w x 1\n[0] r y 0\n[1] w y 1\n[1] r x 0\n';

export const SAMPLES = {
  sc: { model: 'sc', text: `# Store buffering\n${TSO}[2] w z 1\n[2] r z 1\n` },
  tso: {
    model: 'tso',
    text: '# Independent reads of independent writes\n[a] w x 1\n[b] w y 1\n[c] r x 1\n[c] r y 0\n[d] r y 1\n[d] r x 0\n[e] w z 3\n',
  },
  ccv: {
    model: 'ccv',
    text: '# Two replicas that never agree\n[paris] w cart apple\n[tokyo] w cart pear\n[paris] r cart pear\n[tokyo] r cart apple\n[paris] r cart pear\n[tokyo] r cart apple\n',
  },
  ra: {
    model: 'ra',
    text: '[p] w data 1\n[p] w flag 1\n[q] u flag 1 2\n[r] r flag 2\n[r] r data 0\n[q] w other 5\n',
  },
  queue: {
    model: 'linearizable',
    text: '# @object queue\n[p] call enqueue 1\n[q] call enqueue 2\n[p] return\n[p] call enqueue 3\n[q] return\n[c] call dequeue\n[p] return\n[c] return 3\n[c] call dequeue\n[q] call dequeue\n[c] return 1\n[q] return 2\n',
  },
  stack: {
    model: 'linearizable',
    text: '# @object stack\n[a] call push 1\n[a] return\n[a] call push 2\n[b] call push 3\n[a] return\n[b] return\n[a] call pop\n[a] return 1\n[b] call pop\n[b] return 2\n[b] call pop\n[b] return 3\n',
  },
  cas: {
    model: 'linearizable',
    name: 'cas.edn',
    text: [
      '{:type :invoke, :process 0, :f :write, :value 1, :time 3291485}',
      '{:type :invoke, :process 1, :f :cas, :value [0 2], :time 3296209}',
      '{:type :ok, :process 0, :f :write, :value 1, :time 5296209}',
      '{:type :invoke, :process 2, :f :read, :value nil, :time 6101010}',
      '{:type :ok, :process 2, :f :read, :value 1, :time 7101010}',
      '{:type :info, :process :nemesis, :f :start-partition, :value :majority, :time 7500000}',
      '{:type :invoke, :process 0, :f :cas, :value [1 3], :time 8101010}',
      '{:type :fail, :process 1, :f :cas, :value [0 2], :time 8201010}',
      '{:type :ok, :process 0, :f :cas, :value [1 3], :time 9201010}',
      '{:type :invoke, :process 2, :f :read, :value nil, :time 10101010}',
      '{:type :invoke, :process 3, :f :write, :value 4, :time 10201010}',
      '{:type :ok, :process 2, :f :read, :value 1, :time 12101010}',
      '{:type :info, :process :nemesis, :f :stop-partition, :value nil, :time 12500000}',
      '{:type :info, :process 3, :f :write, :value 4, :time 14101010}',
      '{:type :invoke, :process 0, :f :read, :value nil, :time 15101010}',
      '{:type :ok, :process 0, :f :read, :value 4, :time 16101010}',
    ].join('\n'),
  },
  mutex: {
    model: 'linearizable',
    text: '# @object mutex\n[a] call lock\n[a] return\n[b] call lock\n[c] call try-lock\n[c] return false\n[a] call unlock\n[a] return\n[b] return\n[c] call try-lock\n[c] return true\n[b] call unlock\n[b] return\n',
  },
  transactions: {
    model: 'serializable',
    text: '# @object transactions\n[a] begin\n[a] r x 0\n[a] r y 0\n[a] w x 1\n[a] commit\n[b] begin\n[b] r x 0\n[b] r y 0\n[b] w y 1\n[b] commit\n',
  },
};

/** A history whose names would be markup, if they were anything but text. */
export const HOSTILE = [
  '[a<b>] w "<script>alert(1)</script>" 1',
  '[a<b>] w "</script><img src=x onerror=alert(2)>" 1',
  '["bob\\u202etxt"] r "</script><img src=x onerror=alert(2)>" 1',
  '["bob\\u202etxt"] r "<script>alert(1)</script>" 0',
  `["${'long'.repeat(300)}"] w z "\\u2028\\u0007${'x'.repeat(5000)}"`,
  '',
].join('\n');
