# dltime: one Makefile, no recursion. Objects go under $(BUILD).
#
#   make                        everything
#   make check                  unit and command-line tests
#   make bench                  speed and memory of the parts, as ratios and counts
#   make threads                threads that share what was loaded, under the thread sanitizer
#   make fuzz FUZZ_SECONDS=20   each reader against any bytes, with sanitizers
#   make reliability            full disks, cut reads and writes, a hundred kills of each command
#   make coverage               which lines of predictor/ and plugin/ the tests run (gcovr)
#   make sanitize-cli           the command-line tests with sanitizers in the commands
#   make sanitize-slurm         the tests with a real Slurm, with sanitizers in the plugin
#   make analyze                gcc -fanalyzer over every file, some minutes of processor time
#   make cuda                   the CUDA backend, where a toolkit with cuDNN 9 is (CUDA_HOME)
#   make accuracy               every accuracy table, from the measurements in $DLTIME_DATA
#   make install prefix=/usr DESTDIR= [SLURM_PLUGIN_DIR=]    GNU's directory variables, below
#   make uninstall              with the same variables
#   make deb, make rpm          packages, in $(BUILD)/packages (scripts/package)
#
#   SLURM_PREFIX=/opt/slurm: a Slurm built from source, its headers, library and plugin folder.
#   CC=clang, BUILD=build-clang, SANITIZE=address,undefined, COVERAGE=1 do what they say.

BUILD    ?= build
DESTDIR  ?=
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
PREFIX       ?= /usr/local
prefix       ?= $(PREFIX)
exec_prefix  ?= $(prefix)
bindir       ?= $(exec_prefix)/bin
sbindir      ?= $(exec_prefix)/sbin
libdir       ?= $(exec_prefix)/lib
libexecdir   ?= $(exec_prefix)/libexec
sysconfdir   ?= $(if $(filter /usr /usr/,$(prefix)),/etc,$(prefix)/etc)
includedir   ?= $(prefix)/include
datarootdir  ?= $(prefix)/share
datadir      ?= $(datarootdir)
docdir       ?= $(datarootdir)/doc/dltime
mandir       ?= $(datarootdir)/man
pkgconfigdir ?= $(libdir)/pkgconfig
completiondir ?= $(datadir)/bash-completion/completions
# Slurm's plugins: the folder of SLURM_PREFIX, of the installed Slurm, or the distribution's.
SLURM_PLUGIN_DIR ?= $(firstword $(wildcard $(if $(SLURM_PREFIX),$(addprefix \
	$(SLURM_PREFIX)/,lib/slurm lib64/slurm),/usr/lib/$(MULTIARCH)/slurm-wlm \
	/usr/lib/$(MULTIARCH)/slurm /usr/lib64/slurm /usr/lib/slurm)) $(libdir)/slurm)

VERSION  := $(shell sed -n 's/^\#define DLT_VERSION "\(.*\)"/\1/p' predictor/dltime.h)
COMMIT   := $(or $(if $(wildcard .git),$(shell git rev-parse --short HEAD 2>/dev/null)),\
	$(shell cat .commit 2>/dev/null),unknown)
SONAME   := libdltime.so.0

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
WERROR   ?= -Werror
CFLAGS   ?= -O2 -g
ALL_CFLAGS := -std=gnu11 -D_GNU_SOURCE -fPIC -fno-math-errno $(WARNINGS) $(WERROR) $(CFLAGS) \
	-Ipredictor -Ibench -MMD -MP
ifdef SLURM_PREFIX
ALL_CFLAGS   += -isystem $(SLURM_PREFIX)/include
SLURM_LIBDIR := $(patsubst %/libslurm.so,%,$(firstword $(wildcard $(addprefix \
	$(SLURM_PREFIX)/,lib/libslurm.so lib64/libslurm.so)) $(SLURM_PREFIX)/lib/libslurm.so))
SLURM_LIBS   := -L$(SLURM_LIBDIR) -Wl,-rpath,$(SLURM_LIBDIR)
endif
SLURM_LIBS   += -lslurm
LDFLAGS  ?=
ALL_LDFLAGS := -Wl,--as-needed -Wl,-z,relro,-z,now $(LDFLAGS)
ifdef SANITIZE
ALL_CFLAGS  += -fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=undefined
ALL_LDFLAGS += -fsanitize=$(SANITIZE)
else
SHARED_CHECK := -Wl,-z,defs
endif
ifdef COVERAGE
ALL_CFLAGS  += --coverage -fprofile-update=atomic -O0 -DDLT_COVERAGE
ALL_LDFLAGS += --coverage
endif
# Where the installed programs look for models, profiles and configuration.
PATHS = -DDLT_DATADIR='"$(datadir)/dltime"' -DDLT_LIBDIR='"$(libdir)/dltime"' \
	-DDLT_LIBEXECDIR='"$(libexecdir)/dltime"' -DDLT_SYSCONFDIR='"$(sysconfdir)/dltime"'

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard $(1)))

VERSION_OBJ := $(BUILD)/obj/predictor/base/version.o
LIB_OBJ     := $(filter-out $(VERSION_OBJ),$(call objects,predictor/base/*.c predictor/graph/*.c \
	predictor/lower/*.c predictor/device/*.c predictor/measure/*.c predictor/predict/*.c))
LEARN_OBJ   := $(call objects,predictor/learn/*.c)
COMMAND_OBJ := $(call objects,predictor/command/*.c)
ADVISE_OBJ  := $(call objects,plugin/advise/*.c)
SPANK_OBJ   := $(call objects,plugin/spank/*.c plugin/advise/owner.c plugin/advise/tell.c)
SLURM_ADVISE_OBJ   := $(filter-out %/snapshot_main.o,$(call objects,plugin/slurm/*.c))
SLURM_SNAPSHOT_OBJ := $(filter-out %/advise_main.o %/jobspec.o %/options_api.o,\
	$(call objects,plugin/slurm/*.c))
BENCH_OBJ   := $(call objects,bench/*.c predictor/command/usage.c)
BENCH_PART_OBJ := $(filter-out %/main.o %_command.o,$(BENCH_OBJ))
ONEDNN_OBJ  := $(call objects,bench/onednn/*.c)

# CUDA toolkits and cuDNN 9; empty where there is none. CUDA12_HOME: what scripts/cuda12-toolkit
# makes.
CUDA_HOME     ?= /usr/local/cuda
CUDA12_HOME   ?= build-cuda12
CUDNN_INCLUDE ?= $(patsubst %/cudnn_version.h,%,$(firstword $(wildcard $(addsuffix \
	/cudnn_version.h,$(CUDA_HOME)/include /usr/include /usr/include/$(MULTIARCH)))))
CUDNN_LIB     ?= $(patsubst %/libcudnn.so.9,%,$(firstword $(wildcard $(addsuffix /libcudnn.so.9,\
	$(CUDA_HOME)/lib64 $(CUDA_HOME)/lib /usr/lib/$(MULTIARCH) /usr/lib64))))

LIB_LIBS    := -lconfig -ljson-c -lz -lm
LEARN_LIBS  := -lopenblas -lpthread
ADVISE_LIBS := -lconfig

PROGRAMS := $(BUILD)/dltime $(BUILD)/dlbench $(BUILD)/dltime-snapshot
SHARED   := $(BUILD)/libdltime.so $(BUILD)/spank_dltime.so $(BUILD)/advise.so \
	$(BUILD)/backend_onednn.so
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.c))

FUZZ_TARGETS := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

BENCH_PROGRAMS := $(patsubst tests/bench/%.c,$(BUILD)/tests/%,$(wildcard tests/bench/bench_*.c))

.PHONY: all check bench accuracy install uninstall clean unit unit-programs fuzz fuzz-programs tidy
all: $(PROGRAMS) $(SHARED) $(BUILD)/libdltime.a

$(BUILD)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(DEFINES) -c -o $@ $<

# $(BUILD)/NAME.flags holds a value and changes when that does, and so what is made with it.
.PHONY: always
define FLAGS
$(BUILD)/$(1).flags: always
	@mkdir -p $$(@D)
	@printf '%s\n' $(2) >$$@.new
	@if cmp -s $$@.new $$@; then rm $$@.new; else mv $$@.new $$@; fi
endef

# The objects, scripts and files that hold paths of the installation.
PATHS_OBJ := $(BUILD)/obj/predictor/base/paths.o $(BUILD)/obj/plugin/spank/load.o
$(eval $(call FLAGS,paths,$$(PATHS) $$(prefix) $$(exec_prefix) $$(libdir) $$(includedir) \
	$$(completiondir)))
$(PATHS_OBJ): $(BUILD)/paths.flags
$(PATHS_OBJ): DEFINES = $(PATHS)

# What --version says.
ONEDNN_VERSION = $(shell $(CC) -E -dM -include dnnl_version.h -xc /dev/null 2>/dev/null | \
	awk '$$2 ~ /^DNNL_VERSION_(MAJOR|MINOR|PATCH)$$/ { v[$$2] = $$3 } END { if (NR) print \
	v["DNNL_VERSION_MAJOR"] "." v["DNNL_VERSION_MINOR"] "." v["DNNL_VERSION_PATCH"] }')
BUILD_SAYS = -DDLT_COMMIT='"$(COMMIT)"' \
	-DDLT_BUILD_FLAGS='"$(strip $(filter -O% -g% -m%,$(CFLAGS)) \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE)) $(if $(COVERAGE),--coverage))"' \
	-DDLT_BUILD_BLAS='"OpenBLAS $(shell pkg-config --modversion openblas 2>/dev/null)"' \
	-DDLT_BUILD_BACKENDS='"oneDNN $(ONEDNN_VERSION)$(patsubst \
	$(BUILD)/backend_cuda%.so,$(comma) CUDA %,$(CUDA_BACKENDS))"'
comma := ,
$(eval $(call FLAGS,version,$$(BUILD_SAYS)))
$(VERSION_OBJ): $(BUILD)/version.flags
$(VERSION_OBJ): DEFINES = $(BUILD_SAYS)

# What is only made to be installed: in a build tree the programs find everything there.
$(BUILD)/installed/dltime-site: scripts/site $(BUILD)/paths.flags
	@mkdir -p $(@D)
	sed -e 's|^parts=@.*|parts=$(libexecdir)/dltime/site|' \
		-e 's|^sysconf=@.*|sysconf=$(sysconfdir)/dltime|' $< >$@
$(BUILD)/installed/dltime-torch-run: scripts/torch-run $(BUILD)/paths.flags
	@mkdir -p $(@D)
	sed 's|^PARTS = .*|PARTS = "$(libexecdir)/dltime"|' $< >$@
$(BUILD)/installed/dltime-torch-export: scripts/torch-export
	@mkdir -p $(@D)
	cp $< $@
$(BUILD)/installed/libdltime.pc: predictor/libdltime.pc.in $(BUILD)/paths.flags
	@mkdir -p $(@D)
	sed $(foreach v,prefix exec_prefix libdir includedir VERSION,-e 's|@$v@|$($v)|') $< >$@
$(BUILD)/installed/zz_dltime: completion/start.in $(BUILD)/paths.flags
	@mkdir -p $(@D)
	sed 's|@completiondir@|$(completiondir)|g' $< >$@

$(BUILD)/libdltime.a: $(LIB_OBJ)
	$(AR) rcs $@.new $^ && mv $@.new $@

$(BUILD)/libdltime.so: $(LIB_OBJ) predictor/libdltime.map
	$(CC) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=predictor/libdltime.map \
		$(SHARED_CHECK) $(ALL_LDFLAGS) -o $@ $(LIB_OBJ) $(LIB_LIBS)

$(BUILD)/dltime: $(COMMAND_OBJ) $(VERSION_OBJ) $(LEARN_OBJ) $(ADVISE_OBJ) $(LIB_OBJ)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LEARN_LIBS) $(ADVISE_LIBS) $(LIB_LIBS)

# -rdynamic: backends are opened at run time and call back into the program's timer.
$(BUILD)/dlbench: $(BENCH_OBJ) $(VERSION_OBJ) $(LIB_OBJ)
	$(CC) -rdynamic $(ALL_LDFLAGS) -o $@ $^ -ldl -lpthread $(LIB_LIBS)

# Its own loops (optimizers, dropout) have to vectorise to run as fast as a framework's.
$(BUILD)/obj/bench/onednn/%.o: ALL_CFLAGS += -O3
$(BUILD)/backend_onednn.so: $(ONEDNN_OBJ) bench/backend.map
	$(CC) -shared -Wl,--version-script=bench/backend.map $(ALL_LDFLAGS) -o $@ $(ONEDNN_OBJ) \
		-ldnnl -l:libgomp.so.1 -lm

# The CUDA backend: one source, built by each toolkit that is here. CUDA 13 serves compute
# capability 7.5 and later; CUDA 12, with the last cuDNN 9 for them, Pascal and Volta as well.
# Kernels are compiled by the toolkit's NVRTC to machine code for each TARGET (sm_75 runs on 7.5 to
# 7.9) and to PTX (compute_75), which the driver compiles for what comes later.
CUDA13_TARGETS ?= sm_75 sm_80 sm_90 sm_100 sm_120 compute_75
CUDA12_TARGETS ?= sm_60 sm_70 sm_80 sm_90 compute_60
CUDA_VERSION   := $(shell sed -n 's/^\#define CUDART_VERSION *\([0-9]*\)[0-9][0-9][0-9]$$/\1/p' \
	$(CUDA_HOME)/include/cuda_runtime_api.h 2>/dev/null)
CUDA_LIB       := $(firstword $(wildcard $(CUDA_HOME)/lib64 $(CUDA_HOME)/lib))
CUDA_SOURCES   := $(notdir $(wildcard bench/cuda/*.c))
KERNEL_HEADERS := $(addprefix bench/cuda/,arguments.h functions.h number.h half.h) \
	$(wildcard bench/cuda/kernels/*.h)

# NAME MAJOR TOOLKIT TOOLKIT-LIBRARIES CUDNN-INCLUDE CUDNN-LIBRARIES TARGETS
define CUDA_BACKEND
$(BUILD)/$(1)/%.o: bench/cuda/%.c Makefile
	@mkdir -p $$(@D)
	$$(CC) $$(ALL_CFLAGS) -DBENCH_CUDA_NAME='"$(1)"' -isystem $(3)/include \
		-isystem $(5) -c -o $$@ $$<

$(BUILD)/$(1)/compile: bench/cuda/compile/compile.c
	@mkdir -p $$(@D)
	$$(CC) $$(ALL_CFLAGS) -isystem $(3)/include $$(ALL_LDFLAGS) -Wl,-rpath,$(4) -o $$@ $$< \
		-L$(4) -l:libnvrtc.so.$(2)

$(BUILD)/$(1)/%.image: bench/cuda/kernels.cu $(KERNEL_HEADERS) | $(BUILD)/$(1)/compile
	$(BUILD)/$(1)/compile $$< $$* $$@.new -Ibench/cuda && mv $$@.new $$@

$(BUILD)/$(1)/images.S: bench/cuda/compile/images $(foreach t,$(7),$(BUILD)/$(1)/$(t).image)
	$$< $(BUILD)/$(1) $(7) >$$@

$(BUILD)/$(1)/images.o: $(BUILD)/$(1)/images.S
	$$(CC) -c -o $$@ $$<

$(BUILD)/backend_$(1).so $(BUILD)/installed/backend_$(1).so: \
		$(CUDA_SOURCES:%.c=$(BUILD)/$(1)/%.o) $(BUILD)/$(1)/images.o bench/backend.map
	@mkdir -p $$(@D)
	$$(CC) -shared -Wl,--version-script=bench/backend.map $$(ALL_LDFLAGS) \
		$$(addprefix -Wl$$(comma)-rpath$$(comma),$$(RUNPATH)) -o $$@ $$(filter %.o,$$^) \
		-L$(4) -l:libcudart.so.$(2) -l:libcublasLt.so.$(2) -L$(6) -l:libcudnn.so.9 -ldl -lm

$(BUILD)/backend_$(1).so: RUNPATH = $(sort $(4) $(6))
CUDA$(2)_RUNPATH ?= $(filter-out $(CURDIR)/% $(LOADER_FOLDERS),$(sort $(4) $(6)))
$(BUILD)/installed/backend_$(1).so: RUNPATH = $$(CUDA$(2)_RUNPATH)
$(eval $(call FLAGS,$(1),$$(CUDA$(2)_RUNPATH)))
$(BUILD)/installed/backend_$(1).so: $(BUILD)/$(1).flags
endef
# In a build tree a backend finds its toolkit where it was built with it. The installed one looks
# there too, or in the folders of CUDA12_RUNPATH, CUDA13_RUNPATH, but never in the source tree;
# without any it is the loader's, as where NVIDIA's packages are.
LOADER_FOLDERS := /usr/lib/$(MULTIARCH) /usr/lib64

ifneq ($(and $(CUDA_VERSION),$(CUDNN_INCLUDE),$(CUDNN_LIB)),)
CUDA_BACKENDS += $(BUILD)/backend_cuda$(CUDA_VERSION).so
$(eval $(call CUDA_BACKEND,cuda$(CUDA_VERSION),$(CUDA_VERSION),$(CUDA_HOME),$(CUDA_LIB),\
	$(CUDNN_INCLUDE),$(CUDNN_LIB),$(CUDA$(CUDA_VERSION)_TARGETS)))
endif
ifneq ($(wildcard $(CUDA12_HOME)/include/cudnn_version.h),)
ifneq ($(CUDA_VERSION),12)
CUDA12_ROOT := $(abspath $(CUDA12_HOME))
CUDA_BACKENDS += $(BUILD)/backend_cuda12.so
$(eval $(call CUDA_BACKEND,cuda12,12,$(CUDA12_ROOT),$(CUDA12_ROOT)/lib,\
	$(CUDA12_ROOT)/include,$(CUDA12_ROOT)/lib,$(CUDA12_TARGETS)))
endif
endif
# The same objects with a device on the host in place of the GPU: for tests, in a folder of its own
# with a dlbench that finds no other backend.
HOST_CUDA := $(BUILD)-host
NO_HOST_CUDA := $(if $(CUDNN_INCLUDE),,x)$(if $(CUDNN_LIB),,x)$(if $(shell command -v $(CXX)),,x)
ifeq ($(CUDA_VERSION)$(NO_HOST_CUDA),13)
cuda-tests: $(HOST_CUDA)/backend_cuda13.so $(HOST_CUDA)/dlbench \
	$(patsubst tests/cuda/driver/%.c,$(HOST_CUDA)/driver/%.so.1,$(wildcard tests/cuda/driver/*.c))
$(HOST_CUDA)/driver/%.so.1: tests/cuda/driver/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -shared -Wl,-soname,$(@F) -o $@ $<
$(HOST_CUDA)/host_kernels.o: tests/cuda/host_kernels.cpp bench/cuda/kernels.cu $(KERNEL_HEADERS)
	@mkdir -p $(@D)
	$(CXX) -O1 -g -fPIC -Wall -Wno-unknown-pragmas -Ibench/cuda -c -o $@ $<
$(HOST_CUDA)/%.o: tests/cuda/%.c bench/cuda/half.h
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Ibench/cuda -isystem $(CUDA_HOME)/include -isystem $(CUDNN_INCLUDE) \
		-c -o $@ $<
$(HOST_CUDA)/libhost.so: $(HOST_CUDA)/host_kernels.o \
		$(patsubst tests/cuda/%.c,$(HOST_CUDA)/%.o,$(wildcard tests/cuda/*.c))
	$(CC) -shared -o $@ $^ -L$(CUDA_LIB) -l:libcublasLt.so.13 -L$(CUDNN_LIB) -l:libcudnn.so.9 \
		-ldl -lm -Wl,-rpath,$(CUDA_LIB) -Wl,-rpath,$(CUDNN_LIB)
$(HOST_CUDA)/backend_cuda13.so: $(CUDA_SOURCES:%.c=$(BUILD)/cuda13/%.o) $(BUILD)/cuda13/images.o \
		$(HOST_CUDA)/libhost.so
	$(CC) -shared -Wl,--version-script=bench/backend.map -Wl,-rpath,'$$ORIGIN' -o $@ \
		$(filter %.o,$^) -L$(HOST_CUDA) -lhost -L$(CUDA_LIB) -l:libcublasLt.so.13 \
		-L$(CUDNN_LIB) -l:libcudnn.so.9 -ldl -lm -Wl,-rpath,$(CUDA_LIB) -Wl,-rpath,$(CUDNN_LIB)
$(HOST_CUDA)/dlbench: $(BUILD)/dlbench
	@mkdir -p $(@D)
	cp $< $@
endif
.PHONY: cuda cuda-objects cuda-tests
cuda: $(CUDA_BACKENDS)
cuda-objects: $(if $(CUDA_BACKENDS),$(CUDA_SOURCES:%.c=$(BUILD)/cuda$(or $(CUDA_VERSION),12)/%.o))

# Mapped into every sbatch and into root's daemons: libc and nothing else.
$(BUILD)/spank_dltime.so: $(SPANK_OBJ) plugin/spank/spank_dltime.map
	$(CC) -shared -Wl,--version-script=plugin/spank/spank_dltime.map $(ALL_LDFLAGS) -o $@ \
		$(SPANK_OBJ)

# Slurm's own functions stay undefined: the submitting program has them.
$(BUILD)/advise.so: $(SLURM_ADVISE_OBJ) $(ADVISE_OBJ) $(LIB_OBJ) plugin/slurm/advise.map
	$(CC) -shared -Wl,--version-script=plugin/slurm/advise.map $(ALL_LDFLAGS) -o $@ \
		$(SLURM_ADVISE_OBJ) $(ADVISE_OBJ) $(LIB_OBJ) $(ADVISE_LIBS) $(LIB_LIBS)

$(BUILD)/dltime-snapshot: $(SLURM_SNAPSHOT_OBJ) $(ADVISE_OBJ) $(LIB_OBJ)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(SLURM_LIBS) $(ADVISE_LIBS) $(LIB_LIBS)

# Tests of dlbench's parts, without its commands; backends call back into them as into dlbench.
$(BUILD)/tests/test_bench_planned: ALL_LDFLAGS += -rdynamic
$(BUILD)/tests/test_bench_%: $(BUILD)/obj/tests/unit/test_bench_%.o $(BENCH_PART_OBJ) $(LIB_OBJ)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka -ldl -lpthread $(LIB_LIBS)

# What dlbench chooses by a profile, which the learner has to make first.
$(BUILD)/tests/test_choose: $(BENCH_PART_OBJ)
$(BUILD)/tests/test_choose: LIB_LIBS += -ldl

# The oracle of the ONNX reader: protobuf-c and the distribution's onnx.proto, where both are there.
ONNX_PROTO := $(wildcard /usr/include/onnx/onnx.proto)
ifneq ($(and $(ONNX_PROTO),$(shell command -v protoc-c)),)
$(BUILD)/onnx/onnx.pb-c.c: $(ONNX_PROTO)
	@mkdir -p $(@D)
	protoc-c --proto_path=$(dir $(ONNX_PROTO)) --c_out=$(@D) $(ONNX_PROTO)
$(BUILD)/onnx/onnx.pb-c.o: $(BUILD)/onnx/onnx.pb-c.c
	$(CC) -w $(CFLAGS) -c -o $@ $<
$(BUILD)/obj/tests/unit/test_onnx_oracle.o: ALL_CFLAGS += -I$(BUILD)/onnx
$(BUILD)/obj/tests/unit/test_onnx_oracle.o: $(BUILD)/onnx/onnx.pb-c.c
$(BUILD)/tests/test_onnx_oracle: $(BUILD)/obj/tests/unit/test_onnx_oracle.o \
		$(BUILD)/onnx/onnx.pb-c.o $(LIB_OBJ)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka -lprotobuf-c $(LIB_LIBS)
endif

# Its output-dimension functions need no device; the test opens the library at run time.
ifneq ($(and $(CUDNN_INCLUDE),$(CUDNN_LIB)),)
$(BUILD)/obj/tests/unit/test_shapes_cudnn.o: ALL_CFLAGS += -DCUDNN_LIB='"$(CUDNN_LIB)"' \
	-isystem $(CUDNN_INCLUDE) -isystem $(CUDA_HOME)/include
endif

# What evaluate and report count with is the command's own.
$(BUILD)/tests/test_score: $(BUILD)/obj/predictor/command/score.o

$(BUILD)/tests/%: $(BUILD)/obj/tests/unit/%.o $(LEARN_OBJ) $(ADVISE_OBJ) $(LIB_OBJ)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(LEARN_LIBS) $(ADVISE_LIBS) $(LIB_LIBS)

# For clang with SANITIZE=fuzzer-no-link,address,undefined; scripts/test runs them.
$(BUILD)/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(ADVISE_OBJ) $(LIB_OBJ)
	@mkdir -p $(@D)
	$(CC) -fsanitize=fuzzer $(ALL_LDFLAGS) -o $@ $^ $(ADVISE_LIBS) $(LIB_LIBS)

# It reads what the learner reads.
$(BUILD)/fuzz/fuzz_account: $(BUILD)/obj/predictor/learn/accounting.o

# And what the commands make of a range of batches, and of a command line.
$(BUILD)/fuzz/fuzz_request: $(addprefix $(BUILD)/obj/predictor/command/,advise_options.o \
	predict_batches.o predict_print.o resubmit.o usage.o)

# Seeds of the profile's fuzzer, in the format of the day: each kind of section.
FUZZ_PROFILES := $(patsubst %,$(BUILD)/corpus/fuzz_profile/%.dlp,linear auto mlp general adapted)
$(FUZZ_PROFILES) &: $(BUILD)/dltime tests/rows.awk tests/fuzz/make-profiles
	tests/fuzz/make-profiles $(BUILD)/dltime $(BUILD)/corpus/fuzz_profile

unit-programs: $(UNIT_TESTS)
fuzz-programs: $(FUZZ_TARGETS) $(FUZZ_PROFILES)

# Builds the fuzzers with their sanitizers and runs each for FUZZ_SECONDS.
fuzz:
	FUZZ_SECONDS=$(or $(FUZZ_SECONDS),20) scripts/test fuzz

# Hours: real PyTorch jobs on a private Slurm against what was said of them.
.PHONY: closed-loop
closed-loop: all
	BUILD=$(abspath $(BUILD)) tests/closed-loop/run --work $(BUILD)/closed-loop

.PHONY: reliability analyze coverage
reliability: all
	BUILD=$(abspath $(BUILD)) tests/reliability/run

# Of the unit, command-line and Slurm tests, in a build of its own, which is slow: a test that fails
# by its clock has run its lines all the same, and one that hangs is ended. Left out is what runs
# dlbench, PyTorch or scripts rather than these. Fails below 90 % of the lines. gcovr: scripts/setup
# coverage.
COVERED := $(filter-out $(addprefix tests/,$(addprefix cli/,api cuda dlbench dlbench_network install \
	test_script torch torch_run) $(addprefix slurm/,closed_loop demo linkage releases site \
	slurm_dev storm)),$(basename $(wildcard tests/cli/*.bats tests/slurm/*.bats)))
coverage:
	$(MAKE) COVERAGE=1 BUILD=$(BUILD)-coverage all unit-programs
	find $(BUILD)-coverage -name '*.gcda' -delete
	-printf '%s\n' $(UNIT_TESTS:$(BUILD)/%=$(BUILD)-coverage/%) | \
		xargs -P $$(nproc) -I{} timeout --kill-after=10 1800 {}
	-printf '%s\n' $(COVERED:%=%.bats) | BUILD=$(abspath $(BUILD)-coverage) \
		xargs -P $$((2 * $$(nproc))) -I{} timeout --kill-after=10 1800 bats {}
	gcovr --root . --filter predictor/ --filter plugin/ --sort-percentage --fail-under-line 90 \
		$(BUILD)-coverage

# The commands under the sanitizers, through their tests: but for those that install or link them,
# bound their addresses, or hold them against a clock. LeakSanitizer crashes on what its interceptor
# notes of the thread-local memory of libraries that oneDNN loads.
.PHONY: sanitize-cli
SANITIZED_CLI := $(filter-out %/api.bats %/install.bats %/test_script.bats %/cuda.bats,\
	$(wildcard tests/cli/*.bats))
sanitize-cli:
	$(MAKE) CC=clang CFLAGS='-O1 -g' SANITIZE=address,undefined BUILD=$(BUILD)-asan-cli all
	UBSAN_OPTIONS=print_stacktrace=1 \
		ASAN_OPTIONS=allocator_may_return_null=1:intercept_tls_get_addr=0 \
		LSAN_OPTIONS=suppressions=$(CURDIR)/tests/fuzz/leaks.supp:print_suppressions=0 \
		BUILD=$(abspath $(BUILD)-asan-cli) bats $(SANITIZED_CLI)

# The plugin, and all that it starts, under the sanitizers, through the tests with a real Slurm. By
# gcc, whose sanitizers are a library, which programs of others can be started with.
.PHONY: sanitize-slurm
sanitize-slurm:
	$(MAKE) CC=gcc CFLAGS='-O1 -g' SANITIZE=address,undefined BUILD=$(BUILD)-asan-slurm all
	BUILD=$(abspath $(BUILD)-asan-slurm) tests/slurm/sanitized

# A build of its own, of a minute of processor time, for one test.
.PHONY: threads
threads:
	$(MAKE) CC=clang CFLAGS='-O1 -g' SANITIZE=thread BUILD=$(BUILD)-threads \
		$(BUILD)-threads/tests/test_sharing
	$(BUILD)-threads/tests/test_sharing

unit: $(UNIT_TESTS)
	@for test in $(UNIT_TESTS); do echo "== $$test"; $$test || exit 1; done

check: all unit
	BUILD=$(abspath $(BUILD)) bats tests/cli

# clang-tidy with the flags of the build, a file at a time, so that -j helps and only changes count.
SOURCES := $(shell find predictor bench plugin tests -name '*.c')
ifeq ($(and $(CUDA_VERSION),$(CUDNN_INCLUDE)),)
SOURCES := $(filter-out bench/cuda/% tests/cuda/%,$(SOURCES))
endif
CUDA_INCLUDES := $(if $(CUDA_VERSION),-isystem $(CUDA_HOME)/include) \
	$(if $(CUDNN_INCLUDE),-isystem $(CUDNN_INCLUDE)) -Ibench/cuda
HEADERS := $(shell find predictor bench plugin tests -name '*.h')
$(BUILD)/tidy/%.ok: %.c $(HEADERS) .clang-tidy tests/.clang-tidy
	@mkdir -p $(@D)
	@said=$$(clang-tidy --quiet $< -- $(filter-out -MMD -MP,$(ALL_CFLAGS)) $(PATHS) \
		$(if $(findstring /cuda/,$<),$(CUDA_INCLUDES)) 2>&1) || \
		{ echo "$$said"; exit 1; }
	@touch $@
tidy: $(SOURCES:%.c=$(BUILD)/tidy/%.ok)

# What base/error.h and base/known.h tell clang's analyser holds for gcc's. It judges what is
# written, not what an optimiser made of it.
$(BUILD)/analyze/%.ok: %.c $(HEADERS)
	@mkdir -p $(@D)
	gcc $(filter-out -O% -MMD -MP,$(ALL_CFLAGS)) $(PATHS) \
		$(if $(findstring /cuda/,$<),$(CUDA_INCLUDES)) -D__clang_analyzer__ -fanalyzer -O0 \
		-c -o /dev/null $<
	@touch $@
analyze: $(patsubst %.c,$(BUILD)/analyze/%.ok,$(filter-out tests/%,$(SOURCES)))

# Programs of tests/bench/run.
$(BENCH_PROGRAMS): $(BUILD)/tests/%: $(BUILD)/obj/tests/bench/%.o $(LIB_OBJ)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIB_LIBS)

$(BUILD)/tests/bench_advise: $(ADVISE_OBJ)
$(BUILD)/tests/bench_advise: LIB_LIBS += $(ADVISE_LIBS)

# Chooses rows for tests/accuracy/sampling as dlbench would choose what to measure.
$(BUILD)/tests/sampling_choose: $(BUILD)/obj/tests/accuracy/sampling_choose.o $(BENCH_PART_OBJ) \
		$(LIB_OBJ)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -ldl -lpthread $(LIB_LIBS)

# Worlds of known errors for tests/accuracy/limits; rows beside what a profile says for recommend.
$(BUILD)/tests/spread $(BUILD)/tests/row_times: $(BUILD)/tests/%: $(BUILD)/obj/tests/accuracy/%.o \
		$(LEARN_OBJ) $(LIB_OBJ)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LEARN_LIBS) $(LIB_LIBS)

bench: all $(BENCH_PROGRAMS)
	BUILD=$(abspath $(BUILD)) tests/bench/run

accuracy: all $(BUILD)/tests/spread $(BUILD)/tests/row_times
	BUILD=$(abspath $(BUILD)) tests/accuracy/run
	BUILD=$(abspath $(BUILD)) tests/accuracy/general
	BUILD=$(abspath $(BUILD)) tests/accuracy/steps
	BUILD=$(abspath $(BUILD)) tests/accuracy/scaling
	BUILD=$(abspath $(BUILD)) tests/accuracy/limits
	BUILD=$(abspath $(BUILD)) tests/accuracy/recommend
	BUILD=$(abspath $(BUILD)) tests/accuracy/conv-table

# What is installed, for install and uninstall: MODE:FILE:TARGET.
into = $(foreach f,$(3),$(1):$(f):$(2)/$(notdir $(f)))
LAID_CUDA := $(patsubst $(BUILD)/%,$(BUILD)/installed/%,$(filter $(CUDA_BACKENDS),$(wildcard \
	$(BUILD)/backend_cuda*.so)))
LAID_MADE := $(addprefix $(BUILD)/installed/,dltime-site dltime-torch-run dltime-torch-export \
	libdltime.pc zz_dltime)
LAID = $(call into,755,$(bindir),$(BUILD)/dltime $(BUILD)/dlbench \
	$(filter-out %.pc %/zz_dltime,$(LAID_MADE))) \
	755:$(BUILD)/libdltime.so:$(libdir)/$(SONAME).$(VERSION) \
	$(call into,644,$(libdir),$(BUILD)/libdltime.a) \
	$(call into,755,$(libdir)/dltime,$(BUILD)/advise.so $(BUILD)/backend_onednn.so $(LAID_CUDA)) \
	$(call into,755,$(libexecdir)/dltime,$(BUILD)/dltime-snapshot) \
	$(call into,755,$(libexecdir)/dltime/site,$(wildcard scripts/site-parts/*)) \
	$(call into,644,$(libexecdir)/dltime/torch_run,$(wildcard scripts/torch_run/*.py)) \
	$(call into,755,$(SLURM_PLUGIN_DIR),$(BUILD)/spank_dltime.so) \
	$(call into,644,$(includedir),predictor/dltime.h) \
	$(call into,644,$(pkgconfigdir),$(filter %.pc,$(LAID_MADE))) \
	$(call into,644,$(datadir)/dltime,etc/devices.conf etc/quick.jsonl) \
	$(call into,644,$(datadir)/dltime/models,$(wildcard etc/models/*.json)) \
	$(call into,644,$(datadir)/dltime/profiles,$(wildcard etc/profiles/*.dlp)) \
	$(call into,644,$(docdir),README.md CHANGELOG.md LICENSE) \
	$(call into,644,$(docdir)/docs,$(wildcard docs/*.md)) \
	$(call into,644,$(docdir)/examples,$(wildcard etc/examples/*) etc/plugstack.conf.d/dltime.conf) \
	$(foreach n,1 3 5 8,$(call into,644,$(mandir)/man$n,$(wildcard man/*.$n))) \
	$(call into,644,$(completiondir),completion/dltime) \
	$(call into,644,$(sysconfdir)/bash_completion.d,$(filter %/zz_dltime,$(LAID_MADE)))
# LINK:TARGET; what the site edits, which is not replaced.
LAID_LINKS = $(libdir)/$(SONAME):$(SONAME).$(VERSION) $(libdir)/libdltime.so:$(SONAME) \
	$(foreach n,dlbench dltime-site dltime-torch-run dltime-torch-export,$(completiondir)/$n:dltime)
CONF = $(sysconfdir)/dltime/dltime.conf
OWN_FOLDERS = $(libdir)/dltime $(addprefix $(libexecdir)/dltime,/site /torch_run /) \
	$(addprefix $(datadir)/dltime,/models /profiles /) $(addprefix $(docdir),/docs /examples /) \
	$(sysconfdir)/dltime

# They are compiled in, and stand in lists of words.
FOLDERS := prefix exec_prefix bindir sbindir libdir libexecdir sysconfdir includedir datarootdir \
	datadir docdir mandir pkgconfigdir completiondir SLURM_PLUGIN_DIR
ifneq ($(filter install uninstall,$(MAKECMDGOALS)),)
$(foreach v,$(FOLDERS),\
	$(if $(filter-out 0 1,$(words $($v)))$(findstring :,$($v)),$(error $v=$($v): name a folder \
	without blanks and colons; DESTDIR alone may have them))\
	$(if $(filter-out /%,$($v)),$(error $v=$($v): name an absolute path)))
endif

# By renames: a submission that loads half of an object is killed by a bus error.
INSTALL      ?= install
install: all $(LAID_MADE) $(LAID_CUDA)
	@set -e; umask 022; for entry in $(LAID); do \
		mode=$${entry%%:*} entry=$${entry#*:}; \
		$(INSTALL) -D -m $$mode $${entry%%:*} "$(DESTDIR)$${entry#*:}.new"; \
		mv -fT "$(DESTDIR)$${entry#*:}.new" "$(DESTDIR)$${entry#*:}"; \
	done; for entry in $(LAID_LINKS); do \
		ln -sf $${entry#*:} "$(DESTDIR)$${entry%%:*}"; \
	done
	@test -e "$(DESTDIR)$(CONF)" || $(INSTALL) -D -m 644 etc/dltime.conf "$(DESTDIR)$(CONF)"
	@echo
	@echo "Add this line to Slurm's plugstack.conf on the submit hosts:"
	@echo "  optional $(SLURM_PLUGIN_DIR)/spank_dltime.so conf=$(CONF)"

# Leaves a dltime.conf that was changed, and what others have put into the folders.
uninstall:
	@for entry in $(LAID); do rm -f "$(DESTDIR)$${entry##*:}"; done
	@for entry in $(LAID_LINKS); do rm -f "$(DESTDIR)$${entry%%:*}"; done
	@rm -f "$(DESTDIR)$(libdir)"/dltime/backend_cuda*.so
	@rm -rf "$(DESTDIR)$(libexecdir)/dltime/torch_run/__pycache__"
	@! cmp -s etc/dltime.conf "$(DESTDIR)$(CONF)" || rm "$(DESTDIR)$(CONF)"
	@for folder in $(OWN_FOLDERS); do \
		! test -d "$(DESTDIR)$$folder" || \
			rmdir --ignore-fail-on-non-empty "$(DESTDIR)$$folder"; \
	done

# For packaging: where things go, and which CUDA backends can be built from which folders.
.PHONY: slurm-plugin-dir cuda-names cuda-folders
slurm-plugin-dir:
	@echo $(SLURM_PLUGIN_DIR)
cuda-names:
	@echo $(patsubst $(BUILD)/backend_%.so,%,$(CUDA_BACKENDS))
cuda-folders:
	@printf '%s\n' $(sort $(CUDA_LIB) $(CUDNN_LIB) $(if $(CUDA12_ROOT),$(CUDA12_ROOT)/lib))

.PHONY: deb rpm check-packages
deb rpm:
	scripts/package $@ --output $(BUILD)/packages
# In a clean chroot; needs root, debootstrap and a Debian mirror.
check-packages: deb rpm
	tests/packages $(BUILD)/packages

clean:
	rm -rf $(BUILD) $(HOST_CUDA)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
.SECONDARY:
